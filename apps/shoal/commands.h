// The subcommands of `shoal`, one file each. A function adds its command with its
// options to `app`; the command runs inside app.parse(). Every command that has a
// result takes --json.
#pragma once

#include <string>

#include "base/status.h"

// Not its header: that takes ten seconds to compile.
namespace CLI {
class App;
}

namespace shoal {

// `shoal version`: what this binary is, for bug reports.
void AddVersion(CLI::App& app);
// `shoal doctor`: what this machine can do, and what its owner should know.
void AddDoctor(CLI::App& app);
// `shoal bench`: comparisons with the peers, in one run.
void AddBench(CLI::App& app);
// `shoal sim`: a seeded cluster in which things break.
void AddSim(CLI::App& app);
// `shoal data`: data sets into databases, and what is in one.
void AddData(CLI::App& app);
// `shoal time`: how fast a network trains here, layer by layer.
void AddTime(CLI::App& app);
// `shoal zoo`: the networks that come with the program.
void AddZoo(CLI::App& app);
// `shoal classify`: what a trained network sees on images.
void AddClassify(CLI::App& app);
// `shoal train`: a network learns, as a Caffe solver says.
void AddTrain(CLI::App& app);
// `shoal test`: how well it has.
void AddTest(CLI::App& app);
// `shoal plot`: the curves of a run.
void AddPlot(CLI::App& app);
// `shoal model`: what is in a file with a language model.
void AddModel(CLI::App& app);
// `shoal plan`: how phones would hold it, and what they would give.
void AddPlan(CLI::App& app);
// `shoal pull`: brings a model onto this device.
void AddPull(CLI::App& app);
// `shoal quantize`: a model with smaller weights.
void AddQuantize(CLI::App& app);
// `shoal chat`: a conversation with a language model.
void AddChat(CLI::App& app);
// `shoal generate`: a language model goes on with a text.
void AddGenerate(CLI::App& app);
// `shoal perplexity`: how well it predicts one.
void AddPerplexity(CLI::App& app);
// `shoal tokenize`: how a model cuts a text into tokens.
void AddTokenize(CLI::App& app);

// `shoal init`: makes a cluster whose head is this device.
void AddInit(CLI::App& app);
// `shoal token`: a line with which a phone joins.
void AddToken(CLI::App& app);
// `shoal join`: this device becomes a member.
void AddJoin(CLI::App& app);
// `shoal cache`: the layers that this device keeps on flash.
void AddCache(CLI::App& app);

// `shoal serve`: the head of a cluster answers.
void AddServe(CLI::App& app);
// `shoal status`: the cluster at a glance.
void AddStatus(CLI::App& app);
// `shoal nodes`: who is in the cluster.
void AddNodes(CLI::App& app);
// `shoal up`: a whole cluster on this machine.
void AddUp(CLI::App& app);

// What to tell a user whose CPU none of our vector kernels run on; else empty.
std::string SlowKernelsWarning();

// How a command fails: says why on stderr and leaves the callback with exit code 1.
// Does nothing if `status` is OK.
void ExitOnError(const Status& status);

}  // namespace shoal

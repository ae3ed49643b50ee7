// `shoal bench link` and `shoal bench allreduce`: the links of a cluster and what sums take on
// them, as Fig. 2 and Fig. 3 of the paper. With the members of a cluster, or with processes of this
// machine.
#pragma once

namespace CLI {
class App;
}

namespace shoal {

void SetUpLinkBench(CLI::App& command);
void SetUpAllReduceBench(CLI::App& command);

}  // namespace shoal

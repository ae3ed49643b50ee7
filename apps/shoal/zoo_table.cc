#include "shoal/zoo_table.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "nn/graph.h"
#include "shoal/net_inputs.h"

namespace shoal {
namespace {

constexpr std::array<PaperRow, 10> kTable1 = {{
    {"AlexNet", "alexnet", 32, 16, 232.56, ""},
    {"GoogLeNet", "googlenet", 16, 116, 26.70, ""},
    {"Inception-v3", "inception_v3", 4, 556, 91.05,
     "94 convolutions with BatchNorm and Scale have 94 x (1 + 3 + 2) = 564 blobs, the inner "
     "product 2: 566. The paper's 556 with the same size is a slip of one digit, or counts a "
     "variant in which two convolutions have neither BatchNorm nor Scale (566 - 2 x 5)."},
    {"MobileNet-v1", "mobilenet_v1", 8, 164, 16.23, ""},
    {"MobileNet-v2", "mobilenet_v2", 8, 320, 13.51,
     "3,540,189 elements are 13.5047 MiB. The paper's 13.51 is that rounded twice (13.505, "
     "13.51), or a classifier of 1001 classes (13.5096)."},
    {"ResNet-50", "resnet50", 4, 321, 97.70, ""},
    {"ResNet-101", "resnet101", 2, 626, 170.34, ""},
    {"ResNet-152", "resnet152", 2, 932, 230.20, ""},
    {"SqueezeNet-v1.0", "squeezenet_v1.0", 16, 52, 4.76, ""},
    {"SqueezeNet-v1.1", "squeezenet_v1.1", 32, 52, 4.71, ""},
}};

bool SameSize(const ZooRow& row) { return std::abs(row.mib() - row.paper.mib) <= 0.005; }

double Rounded(double value) { return std::round(value * 1e4) / 1e4; }

double MultiplyAdds(const nn::Graph& graph) {
  double sum = 0;
  for (const nn::Node& node : graph.nodes()) sum += node.op->multiply_adds();
  return sum;
}

std::vector<std::size_t> SizesOf(const nn::ParamStore& params) {
  std::vector<std::size_t> sizes;
  for (const nn::Param& param : params.params()) {
    sizes.push_back(param.spec.layout.elements());
  }
  return sizes;
}

Result<ZooRow> Count(const PaperRow& paper) {
  SHOAL_ASSIGN_OR_RETURN(const caffe::NetFile file, ReadNetFile("zoo:" + std::string(paper.zoo)));
  SHOAL_ASSIGN_OR_RETURN(caffe::Network network, file.Build({}));
  SHOAL_ASSIGN_OR_RETURN(const auto shapes, InputShapes({.batch = 1}, network));
  nn::ParamStore params;
  SHOAL_ASSIGN_OR_RETURN(
      const nn::Graph graph,
      nn::Graph::Build(network.net, {.input_shapes = shapes, .fuse = false}, params));
  return ZooRow{.paper = paper,
                .batch = network.sources.empty() ? 0 : network.sources[0].batch,
                .blobs = params.size(),
                .elements = params.elements(),
                .sizes = SizesOf(params),
                .multiply_adds = MultiplyAdds(graph)};
}

}  // namespace

Result<std::vector<ZooRow>> CountZoo() {
  std::vector<ZooRow> rows;
  for (const PaperRow& paper : kTable1) {
    SHOAL_ASSIGN_OR_RETURN(rows.emplace_back(), Count(paper));
  }
  return rows;
}

nlohmann::ordered_json ToJson(const std::vector<ZooRow>& rows) {
  nlohmann::ordered_json nets = nlohmann::ordered_json::array();
  for (const ZooRow& row : rows) {
    nlohmann::ordered_json net = {
        {"name", row.paper.name},
        {"zoo", row.paper.zoo},
        {"batch", row.batch},
        {"elements", row.elements},
        {"blobs", row.blobs},
        {"sizes", row.sizes},
        {"mib", Rounded(row.mib())},
        {"gmac", Rounded(row.gmac())},
        {"paper",
         {{"batch", row.paper.batch}, {"chunks", row.paper.chunks}, {"mib", row.paper.mib}}},
        {"same_chunks", row.blobs == row.paper.chunks},
        {"same_mib", SameSize(row)}};
    if (!row.paper.deviation.empty()) net["deviation"] = row.paper.deviation;
    nets.push_back(std::move(net));
  }
  return {{"table", "I"}, {"nets", std::move(nets)}};
}

std::string ToText(const std::vector<ZooRow>& rows) {
  std::string text = fmt::format("{:<16} {:>11} {:>6} {:>9} {:>7}   {:>5} {:>6} {:>7}\n", "",
                                 "elements", "blobs", "MiB", "GMAC", "batch", "chunks", "MiB");
  std::string notes;
  for (const ZooRow& row : rows) {
    const bool same = row.blobs == row.paper.chunks && SameSize(row);
    text += fmt::format("{:<16} {:>11} {:>6} {:>9.4f} {:>7.3f}   {:>5} {:>6} {:>7.2f}{}\n",
                        row.paper.name, row.elements, row.blobs, row.mib(), row.gmac(),
                        row.paper.batch, row.paper.chunks, row.paper.mib, same ? "" : " *");
    if (!row.paper.deviation.empty()) {
      notes += fmt::format("* {}: {}\n", row.paper.name, row.paper.deviation);
    }
  }
  return text +
         "\nLeft: our files, parameters in 32-bit floats, GMAC forward for one image. Right: the "
         "paper's Table I.\n" +
         notes;
}

}  // namespace shoal

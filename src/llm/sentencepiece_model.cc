#include "llm/sentencepiece_model.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "llm/tokenizer_json.h"

namespace shoal::llm {
namespace {

Status Error(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

// Walks over the fields of one message of protobuf.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Goes to the next field. False: there is none, or what follows is none (then broken()).
  bool Next() {
    if (bytes_.empty() || broken_) return false;
    const std::uint64_t tag = Varint();
    field_ = tag >> 3U;
    text_ = {};
    switch (tag & 7U) {
      case 0:
        number_ = Varint();
        break;
      case 1:
        number_ = Fixed(8);
        break;
      case 2:
        text_ = Take(Varint());
        break;
      case 5:
        number_ = Fixed(4);
        break;
      default:
        broken_ = true;
    }
    return !broken_;
  }

  bool broken() const { return broken_; }
  std::uint64_t field() const { return field_; }
  std::uint64_t number() const { return number_; }            // 0 of a text.
  std::span<const std::byte> bytes() const { return text_; }  // Empty of a number.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(text_.data()), text_.size()};
  }

 private:
  std::span<const std::byte> Take(std::uint64_t size) {
    if (size > bytes_.size()) broken_ = true;
    if (broken_) return {};
    const std::span<const std::byte> taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  std::uint64_t Fixed(std::size_t size) {
    std::uint64_t value = 0;
    std::size_t shift = 0;
    for (const std::byte byte : Take(size)) {
      value |= std::to_integer<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (std::size_t shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = Fixed(1);
      value |= (byte & 127U) << shift;
      if (byte < 128 || broken_) return value;
    }
    broken_ = true;
    return 0;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t field_ = 0;
  std::uint64_t number_ = 0;
  std::span<const std::byte> text_;
  bool broken_ = false;
};

Status ReadPiece(Fields piece, Vocabulary& vocabulary) {
  const std::string where = "piece " + std::to_string(vocabulary.tokens.size());
  std::string text;
  float score = 0;
  std::uint64_t type = 1;
  while (piece.Next()) {
    if (piece.field() == 1) text = std::string(piece.text());
    if (piece.field() == 2)
      score = std::bit_cast<float>(static_cast<std::uint32_t>(piece.number()));
    if (piece.field() == 3) type = piece.number();
  }
  if (piece.broken()) return Error(where + " is broken");
  // The numbers of the types are those of GGUF.
  if (type < 1 || type > 6) return Error(where + " is of type " + std::to_string(type));
  if (vocabulary.tokens.size() >= kMaxTokens) {
    return Error("more than " + std::to_string(kMaxTokens) + " pieces");
  }
  vocabulary.tokens.push_back(std::move(text));
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(static_cast<TokenType>(type));
  return {};
}

// -1, written as 2^64 - 1, means none.
std::optional<TokenId> AsId(std::uint64_t number) {
  if (number >= kMaxTokens) return std::nullopt;
  return static_cast<TokenId>(number);
}

Status ReadTrainer(Fields trainer, Vocabulary& vocabulary) {
  std::uint64_t kind = 1;
  while (trainer.Next()) {
    if (trainer.field() == 3) kind = trainer.number();
    if (trainer.field() == 40) vocabulary.unknown = AsId(trainer.number());
    if (trainer.field() == 41) vocabulary.bos = AsId(trainer.number());
    if (trainer.field() == 42) vocabulary.eos = AsId(trainer.number());
    if (trainer.field() == 43) vocabulary.padding = AsId(trainer.number());
  }
  if (trainer.broken()) return Error("the description of its training is broken");
  constexpr std::uint64_t kBytePairs = 2;
  if (kind != kBytePairs) {
    return Error("a model of kind " + std::to_string(kind) + " is not supported; BPE (2) is");
  }
  return {};
}

Status ReadNormalizer(Fields normalizer, Vocabulary& vocabulary) {
  while (normalizer.Next()) {
    if (normalizer.field() == 3) vocabulary.add_space_prefix = normalizer.number() != 0;
  }
  if (normalizer.broken()) return Error("the description of its normaliser is broken");
  return {};
}

Result<Vocabulary> ReadModel(std::span<const std::byte> bytes) {
  Vocabulary vocabulary;
  vocabulary.model = TokenModel::kSentencePiece;
  vocabulary.add_space_prefix = true;
  vocabulary.unknown = 0;
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  bool trainer = false;
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.field() == 1) SHOAL_RETURN_IF_ERROR(ReadPiece(Fields(fields.bytes()), vocabulary));
    if (fields.field() == 3) {
      SHOAL_RETURN_IF_ERROR(ReadNormalizer(Fields(fields.bytes()), vocabulary));
    }
    if (fields.field() != 2) continue;
    trainer = true;
    SHOAL_RETURN_IF_ERROR(ReadTrainer(Fields(fields.bytes()), vocabulary));
  }
  if (fields.broken() || vocabulary.tokens.empty() || !trainer) {
    return Error("not a model of SentencePiece");
  }
  // llama's and mistral's do, and the file cannot say; tokenizer_config.json may know better.
  vocabulary.add_bos = vocabulary.bos.has_value();
  return vocabulary;
}

}  // namespace

Result<Vocabulary> ReadSentencePieceModel(std::string_view file, std::span<const std::byte> bytes,
                                          std::string_view config) {
  if (bytes.size() > kMaxSentencePieceBytes) {
    return Error(std::string(file) + ": larger than " +
                 std::to_string(kMaxSentencePieceBytes >> 20U) + " MiB");
  }
  Result<Vocabulary> vocabulary = ReadModel(bytes);
  if (!vocabulary.ok()) return std::move(vocabulary).status().Annotate(file);
  SHOAL_RETURN_IF_ERROR(ApplyTokenizerConfig(config, *vocabulary).Annotate(file));
  return vocabulary;
}

}  // namespace shoal::llm

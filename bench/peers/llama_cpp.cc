#include "bench/peers/llama_cpp.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"

namespace shoal::bench {
namespace {

// Parameters come from llama.cpp by value and go back as they came, but for the length of the
// context, which is the first field in every version. What follows differs between versions; a
// structure larger than theirs is passed alike, because it is the last argument.
struct Parameters {
  alignas(8) unsigned char bytes[1024];
};

struct Batch {
  std::int32_t n_tokens;
  std::int32_t* token;
  float* embd;
  std::int32_t* pos;
  std::int32_t* n_seq_id;
  std::int32_t** seq_id;
  std::int8_t* logits;
};

struct Functions {
  void (*load_backends)(const char*);
  void (*log_set)(void (*)(int, const char*, void*), void*);
  Parameters (*model_default_params)();
  void* (*model_load_from_file)(const char*, Parameters);
  void (*model_free)(void*);
  const void* (*model_get_vocab)(const void*);
  std::int32_t (*vocab_n_tokens)(const void*);
  Parameters (*context_default_params)();
  void* (*init_from_model)(void*, Parameters);
  void (*free)(void*);
  std::uint32_t (*n_ctx)(const void*);
  void (*set_n_threads)(void*, std::int32_t, std::int32_t);
  void* (*get_memory)(const void*);
  void (*memory_clear)(void*, bool);
  Batch (*batch_get_one)(std::int32_t*, std::int32_t);
  std::int32_t (*decode)(void*, Batch);
  float* (*get_logits)(void*);
  float* (*get_logits_ith)(void*, std::int32_t);
  Parameters (*quantize_default_params)();
  std::uint32_t (*quantize)(const char*, const char*, const Parameters*);
};

// The first file of the folder whose name begins with "lib<stem>." and is a shared library.
std::string FindLibrary(const std::string& folder, const std::string& stem) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("lib" + stem + ".") && name.find(".so") != std::string::npos) {
      return entry.path().string();
    }
  }
  return {};
}

class Loader {
 public:
  explicit Loader(std::string folder) : folder_(std::move(folder)) {}

  Result<Functions> Load() {
    const std::string ggml_base = FindLibrary(folder_, "ggml-base");
    const std::string ggml = FindLibrary(folder_, "ggml");
    const std::string llama = FindLibrary(folder_, "llama");
    if (ggml.empty() || llama.empty()) {
      return Status(Code::kNotFound, folder_ + ": has no libllama and libggml");
    }
    if (!ggml_base.empty()) (void)dlopen(ggml_base.c_str(), RTLD_NOW | RTLD_GLOBAL);
    Functions f{};
    Find(ggml, "ggml_backend_load_all_from_path", f.load_backends);
    Find(llama, "llama_log_set", f.log_set);
    Find(llama, "llama_model_default_params", f.model_default_params);
    Find(llama, "llama_model_load_from_file", f.model_load_from_file);
    Find(llama, "llama_model_free", f.model_free);
    Find(llama, "llama_model_get_vocab", f.model_get_vocab);
    Find(llama, "llama_vocab_n_tokens", f.vocab_n_tokens);
    Find(llama, "llama_context_default_params", f.context_default_params);
    Find(llama, "llama_init_from_model", f.init_from_model);
    Find(llama, "llama_free", f.free);
    Find(llama, "llama_n_ctx", f.n_ctx);
    Find(llama, "llama_set_n_threads", f.set_n_threads);
    Find(llama, "llama_get_memory", f.get_memory);
    Find(llama, "llama_memory_clear", f.memory_clear);
    Find(llama, "llama_batch_get_one", f.batch_get_one);
    Find(llama, "llama_decode", f.decode);
    Find(llama, "llama_get_logits", f.get_logits);
    Find(llama, "llama_get_logits_ith", f.get_logits_ith);
    Find(llama, "llama_model_quantize_default_params", f.quantize_default_params);
    Find(llama, "llama_model_quantize", f.quantize);
    if (!missing_.empty()) return Status(Code::kUnavailable, folder_ + ": no " + missing_);
    return f;
  }

 private:
  template <class Function>
  void Find(const std::string& library, const char* name, Function& function) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    function = handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
    if (function != nullptr || !missing_.empty()) return;
    const char* const error = handle == nullptr ? dlerror() : nullptr;
    missing_ = error != nullptr ? std::string(error) : std::string(name);
  }

  std::string folder_;
  std::string missing_;
};

class LoadedLlamaCpp final : public LlamaCpp {
 public:
  LoadedLlamaCpp(const Functions& f, void* model, void* context)
      : f_(f),
        model_(model),
        context_(context),
        vocab_(static_cast<std::size_t>(f.vocab_n_tokens(f.model_get_vocab(model)))) {}
  LoadedLlamaCpp(const LoadedLlamaCpp&) = delete;
  LoadedLlamaCpp& operator=(const LoadedLlamaCpp&) = delete;
  ~LoadedLlamaCpp() override {
    f_.free(context_);
    f_.model_free(model_);
  }

  void Clear() override { f_.memory_clear(f_.get_memory(context_), true); }

  void SetThreads(std::size_t threads) override {
    f_.set_n_threads(context_, static_cast<std::int32_t>(threads),
                     static_cast<std::int32_t>(threads));
  }

  std::span<const float> Feed(std::span<const std::int32_t> tokens) override {
    Decode(tokens, nullptr);
    return {f_.get_logits_ith(context_, -1), vocab_};
  }

  std::span<const float> FeedAll(std::span<const std::int32_t> tokens) override {
    std::vector<std::int8_t> wanted(tokens.size(), 1);
    Decode(tokens, wanted.data());
    return {f_.get_logits(context_), tokens.size() * vocab_};
  }

 private:
  void Decode(std::span<const std::int32_t> tokens, std::int8_t* wanted) {
    std::vector<std::int32_t> copy(tokens.begin(), tokens.end());  // They want to write.
    Batch batch = f_.batch_get_one(copy.data(), static_cast<std::int32_t>(copy.size()));
    batch.logits = wanted;
    SHOAL_CHECK_EQ(f_.decode(context_, batch), 0);
  }

  Functions f_;
  void* model_;
  void* context_;
  std::size_t vocab_;
};

Result<Functions> LoadFunctions(const std::string& folder) {
  SHOAL_ASSIGN_OR_RETURN(const Functions f, Loader(folder).Load());
  f.log_set([](int, const char*, void*) {}, nullptr);
  f.load_backends(folder.c_str());
  return f;
}

}  // namespace

Result<std::unique_ptr<LlamaCpp>> LoadLlamaCpp(const std::string& folder, const std::string& model,
                                               std::size_t context) {
  SHOAL_ASSIGN_OR_RETURN(const Functions f, LoadFunctions(folder));
  void* const loaded = f.model_load_from_file(model.c_str(), f.model_default_params());
  if (loaded == nullptr) return Status(Code::kUnavailable, model + ": llama.cpp cannot load it");
  Parameters parameters = f.context_default_params();
  const auto length = static_cast<std::uint32_t>(context);
  std::memcpy(parameters.bytes, &length, sizeof length);
  void* const created = f.init_from_model(loaded, parameters);
  if (created == nullptr || f.n_ctx(created) < length) {
    return Status(Code::kUnavailable,
                  folder + ": llama.cpp made no context of " + std::to_string(context) + " tokens");
  }
  return std::unique_ptr<LlamaCpp>(new LoadedLlamaCpp(f, loaded, created));
}

Status QuantizeByLlamaCpp(const std::string& folder, const std::string& from, const std::string& to,
                          std::int32_t file_type) {
  SHOAL_ASSIGN_OR_RETURN(const Functions f, LoadFunctions(folder));
  // Threads, the type, the types of two tensors, and whether quantised ones may be read again:
  // these have been the first fields since there is a structure.
  Parameters parameters = f.quantize_default_params();
  std::memcpy(parameters.bytes + 4, &file_type, sizeof file_type);
  parameters.bytes[16] = 1;
  if (f.quantize(from.c_str(), to.c_str(), &parameters) == 0) return {};
  return Status(Code::kUnavailable,
                from + ": llama.cpp cannot make type " + std::to_string(file_type) + " of it");
}

}  // namespace shoal::bench

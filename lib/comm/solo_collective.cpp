// Collective over one rank: the answer is already here.

#include "comm/collective.hpp"

namespace drift {
namespace {

class SoloCollective final : public Collective {
 public:
  explicit SoloCollective(Backend& on) : on_(on) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view transport() const override { return "solo"; }

  void all_gather(const void* mine, void* all, std::int64_t bytes) override { on_.copy(mine, all, bytes); }
  void all_reduce(float*, std::int64_t, Reduce) override {}

 private:
  Backend& on_;
};

}  // namespace

std::unique_ptr<Collective> make_solo_collective(Backend& on) { return std::make_unique<SoloCollective>(on); }

}  // namespace drift

#include "plugin/named_errors.hpp"

#include <new>
#include <string_view>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace drift {

void name_errors(const std::string& subject, const std::function<void()>& body) {
  try {
    body();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("plug-in ")) throw;
    throw Error(error.fault(), subject + ": " + error.what(), error.where());
  } catch (const std::bad_alloc&) {
    throw Error(Fault::device, subject + ": out of memory on this rank's host (an allocation was refused)");
  } catch (const std::exception& error) {
    throw Error(Fault::internal, subject + ": " + error.what());
  }
}

}  // namespace drift

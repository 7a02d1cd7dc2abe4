// SPDX-License-Identifier: Apache-2.0
// What a snapshot has no use for.
#include "snapshot/pickle_opcode.h"

namespace strandline::snapshot::opcode {

std::string_view refused_name(unsigned char opcode) noexcept {
  switch (opcode) {
    case persid:
      return "PERSID";
    case reduce:
      return "REDUCE";
    case build:
      return "BUILD";
    case global:
      return "GLOBAL";
    case inst:
      return "INST";
    case binpersid:
      return "BINPERSID";
    case obj:
      return "OBJ";
    case newobj:
      return "NEWOBJ";
    case ext1:
      return "EXT1";
    case ext2:
      return "EXT2";
    case ext4:
      return "EXT4";
    case newobj_ex:
      return "NEWOBJ_EX";
    case stack_global:
      return "STACK_GLOBAL";
    case next_buffer:
      return "NEXT_BUFFER";
    default:
      return {};
  }
}

}  // namespace strandline::snapshot::opcode

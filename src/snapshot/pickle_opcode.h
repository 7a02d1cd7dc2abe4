// SPDX-License-Identifier: Apache-2.0
// Opcodes of pickle protocols 0 to 5.
#pragma once

#include <cstdint>
#include <string_view>

namespace strandline::snapshot::opcode {

enum : unsigned char {
  // protocol 0
  mark = '(',
  stop = '.',
  pop = '0',
  dup = '2',
  float_line = 'F',
  int_line = 'I',
  long_line = 'L',
  none = 'N',
  persid = 'P',
  reduce = 'R',
  string_line = 'S',
  unicode_line = 'V',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  get_line = 'g',
  inst = 'i',
  list = 'l',
  put_line = 'p',
  setitem = 's',
  tuple = 't',
  // protocol 1
  pop_mark = '1',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  binpersid = 'Q',
  binstring = 'T',
  short_binstring = 'U',
  binunicode = 'X',
  empty_dict = '}',
  appends = 'e',
  binget = 'h',
  long_binget = 'j',
  empty_list = ']',
  obj = 'o',
  binput = 'q',
  long_binput = 'r',
  empty_tuple = ')',
  setitems = 'u',
  binfloat = 'G',
  // protocol 2
  proto = 0x80,
  newobj = 0x81,
  ext1 = 0x82,
  ext2 = 0x83,
  ext4 = 0x84,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  // protocol 3
  binbytes = 'B',
  short_binbytes = 'C',
  // protocol 4
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  empty_set = 0x8f,
  additems = 0x90,
  frozenset = 0x91,
  newobj_ex = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
  // protocol 5
  bytearray8 = 0x96,
  next_buffer = 0x97,
  readonly_buffer = 0x98,
};

/// Name of an opcode that would run code or fetch something from elsewhere; empty for all others.
std::string_view refused_name(unsigned char opcode) noexcept;

}  // namespace strandline::snapshot::opcode

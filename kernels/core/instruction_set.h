// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace gr {
namespace sar {

//! Instruction sets that hot CPU loops are compiled for, beside the plain one.
enum class instruction_set { plain, avx2, avx512 };

#if defined(__x86_64__) && defined(__GNUC__)
#define SAR_HAVE_X86_SETS
#define SAR_FOR_AVX2 __attribute__((target("avx2,fma")))
#define SAR_FOR_AVX512                                                                   \
    __attribute__((                                                                      \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")))
#endif

//! The best of them that this machine runs.
inline instruction_set instructions_of_this_machine()
{
#ifdef SAR_HAVE_X86_SETS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return instruction_set::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return instruction_set::avx2;
#endif
    return instruction_set::plain;
}

} // namespace sar
} // namespace gr

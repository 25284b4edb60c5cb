//! Where a thread stands: its registers and its stack. If both are as they were a turn of a loop ago, the turn has counted nothing.
//!
//! What a thread keeps on the heap is not looked at, nor whether objects on its stack have got their numbers.

use super::name::unnamed;
use super::names::Names;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The registers that functions give back as they found them, and first of all the stack pointer.
#[repr(transparent)]
pub(crate) struct Here {
    registers: [usize; REGISTERS],
}

const REGISTERS: usize = 20;

impl Here {
    /// Where the caller stands. Inlined into whatever asks, so that nothing of ours lies on the stack above that pointer.
    #[inline(always)]
    pub(crate) fn now() -> Here {
        let mut here = Here { registers: [0; REGISTERS] };
        // SAFETY: there is room for all registers.
        unsafe { save(&mut here.registers) };
        here
    }

    /// One number for the registers and the stack up to its base; nothing where registers cannot be read.
    pub(crate) fn picture(&self, base: usize, names: &Names) -> Option<u64> {
        let [pointer, ..] = self.registers;
        let mut hasher = FxHasher::default();
        self.registers.iter().for_each(|&register| hasher.write_usize(register));
        for address in (pointer..base).step_by(size_of::<usize>()) {
            let word = std::ptr::with_exposed_provenance::<usize>(address);
            // SAFETY: the words between the stack pointer and the base are the frames of the functions that are running.
            hasher.write_u64(unnamed(names, unsafe { word.read_volatile() } as u64));
        }
        (pointer != 0).then(|| hasher.finish())
    }
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn save(registers: *mut [usize; REGISTERS]) {
    std::arch::naked_asm!(
        "mov [rdi], rsp",
        "mov [rdi + 8], rbx",
        "mov [rdi + 16], rbp",
        "mov [rdi + 24], r12",
        "mov [rdi + 32], r13",
        "mov [rdi + 40], r14",
        "mov [rdi + 48], r15",
        "ret",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn save(registers: *mut [usize; REGISTERS]) {
    std::arch::naked_asm!(
        "mov x9, sp",
        "str x9, [x0]",
        "stp x19, x20, [x0, #8]",
        "stp x21, x22, [x0, #24]",
        "stp x23, x24, [x0, #40]",
        "stp x25, x26, [x0, #56]",
        "stp x27, x28, [x0, #72]",
        "str x29, [x0, #88]",
        "stp d8, d9, [x0, #96]",
        "stp d10, d11, [x0, #112]",
        "stp d12, d13, [x0, #128]",
        "stp d14, d15, [x0, #144]",
        "ret",
    )
}

/// Elsewhere nothing is known, and a loop that waits meets the limit on events.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn save(_: *mut [usize; REGISTERS]) {}

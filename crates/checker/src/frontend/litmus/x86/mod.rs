//! The x86 architectures: `X86` writes the destination first, as Intel does; `X86_64` last, as AT&T does.

mod access;
mod lower;
mod memory;
mod mnemonic;
mod operand;
mod register;
mod table;
mod update;

pub(super) use lower::lower;
pub(super) use register::part;
pub(super) use table::parse_table;

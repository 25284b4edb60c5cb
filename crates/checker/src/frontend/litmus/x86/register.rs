//! Names of x86 registers and the parts of registers that they mean.

use crate::frontend::litmus::Arch;

/// All of a register or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Part {
    /// The canonical name of the whole register.
    pub(in super::super) register: String,
    /// How many bits the name means.
    pub(in super::super) bits: u8,
    /// Bits 8 to 15: AH, BH, CH, DH.
    pub(in super::super) high: bool,
}

/// What a register's name means on this architecture; names are in any case.
pub(in super::super) fn part(arch: Arch, name: &str) -> Option<Part> {
    let name = name.to_ascii_lowercase();
    let (stem, bits, high) = split(&name)?;
    let numbered = stem.starts_with('r');
    let register = match arch {
        _ if bits == SEGMENT => stem.to_string(),
        Arch::X86 if numbered => stem.to_ascii_uppercase(),
        Arch::X86 => format!("E{}", stem.to_ascii_uppercase()),
        _ if numbered => stem.to_string(),
        _ => format!("r{stem}"),
    };
    let whole = if arch == Arch::X86 { 32 } else { 64 };
    Some(Part { register, bits: if bits == SEGMENT { whole } else { bits.min(whole) }, high })
}

/// Segment registers are never used in parts.
const SEGMENT: u8 = 0;

/// The stem that all parts of a register share, the bits of this part, whether it is the high byte.
fn split(name: &str) -> Option<(&str, u8, bool)> {
    const LETTERS: [&str; 4] = ["ax", "bx", "cx", "dx"];
    const POINTERS: [&str; 5] = ["si", "di", "sp", "bp", "ip"];
    if let Some(known) = ["cs", "ds", "es", "fs", "gs", "ss"].iter().find(|segment| **segment == name) {
        return Some((known, SEGMENT, false));
    }
    if let Some(stem) = LETTERS.iter().find(|stem| name.len() == 2 && stem.as_bytes()[0] == name.as_bytes()[0]) {
        match &name[1..] {
            "l" => return Some((stem, 8, false)),
            "h" => return Some((stem, 8, true)),
            _ => {}
        }
    }
    if let Some(stem) = POINTERS.iter().find(|stem| name.strip_suffix('l') == Some(**stem)) {
        return Some((stem, 8, false));
    }
    let number = name.strip_prefix('r').map(|rest| rest.trim_end_matches(['d', 'w', 'b']));
    if let Some(number) = number.and_then(|digits| digits.parse::<u8>().ok()).filter(|number| (8..16).contains(number))
    {
        let stem = if number < 10 { &name[..2] } else { &name[..3] };
        let bits = match &name[stem.len()..] {
            "" => 64,
            "d" => 32,
            "w" => 16,
            "b" => 8,
            _ => return None,
        };
        return Some((stem, bits, false));
    }
    let (bits, stem) = match name.as_bytes().first()? {
        b'r' if name.len() == 3 => (64, &name[1..]),
        b'e' if name.len() == 3 => (32, &name[1..]),
        _ => (16, name),
    };
    LETTERS.iter().chain(&POINTERS).find(|known| **known == stem).map(|known| (*known, bits, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_of_a_register_share_its_name() {
        for (name, bits, high) in
            [("RAX", 64, false), ("eax", 32, false), ("Ax", 16, false), ("al", 8, false), ("AH", 8, true)]
        {
            assert_eq!(part(Arch::X86_64, name), Some(Part { register: "rax".into(), bits, high }));
        }
        assert_eq!(part(Arch::X86, "eax").map(|part| part.register), Some("EAX".into()));
        for (name, bits) in [("r10", 64), ("r10d", 32), ("r10w", 16), ("r10b", 8)] {
            assert_eq!(part(Arch::X86_64, name), Some(Part { register: "r10".into(), bits, high: false }));
        }
        assert_eq!(part(Arch::X86_64, "sil").map(|part| part.register), Some("rsi".into()));
    }

    #[test]
    fn variables_are_no_registers() {
        for name in ["x", "y", "a", "r0", "r16", "r08", "xl", "ok1", "rxx", "r8x", "é", "aé"] {
            assert_eq!(part(Arch::X86_64, name), None, "{name}");
        }
    }
}

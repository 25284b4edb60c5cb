//! Absurd input is refused, quickly and without a crash.

use super::program;
use crate::frontend::ut::MAX_DIAGNOSTICS;
use std::time::{Duration, Instant};

/// The messages of a program's mistakes.
fn messages(text: &str) -> Vec<String> {
    let start = Instant::now();
    let messages = match program(text) {
        Ok(_) => Vec::new(),
        Err(diagnostics) => diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect(),
    };
    assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
    messages
}

fn refused(text: &str, message: &str) {
    let messages = messages(text);
    assert!(messages.iter().any(|found| found.contains(message)), "{messages:?} does not contain {message:?}");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    for (open, close) in [
        ("(", ")"),
        ("!", ""),
        ("1 + (", ")"),
        ("a[", "]"),
        ("f(", ")"),
        ("1 || 1 && 1 == 1 | 1 ^ 1 & 1 << 1 + 1 * (", ")"),
    ] {
        let expression = format!("{}1{}", open.repeat(deep), close.repeat(deep));
        refused(&format!("thread t {{ let r = {expression}; }}"), "nested too deeply");
    }
    refused(&format!("thread t {{ let r = 1{}; }}", " + 1".repeat(deep)), "nested too deeply");
    refused(&format!("thread t {{ let r = a{}; }}", ".b".repeat(deep)), "nested too deeply");
    refused(&format!("thread t {}{}", "{".repeat(deep), "}".repeat(deep)), "nested too deeply");
    refused(&format!("thread t {{ {} }}", "if 1 {} else ".repeat(deep)), "nested too deeply");
    refused(&format!("thread t {{ {}", "while 1 {".repeat(deep)), "nested too deeply");
}

#[test]
fn what_is_nested_just_enough_runs() {
    let expression = format!("{}1{}", "(x + ".repeat(48), ")".repeat(48));
    let blocks = format!("{}x = {expression};{}", "if x {".repeat(48), "}".repeat(48));
    assert_eq!(messages(&format!("shared x; thread t {{ {blocks} }}")), Vec::<String>::new());
}

#[test]
fn deep_chains_of_calls_are_refused() {
    let mut text = "thread t { f999(); } fn f0() { return 1; }".to_string();
    for n in 1..1000 {
        text += &format!("fn f{n}() {{ return f{}() + 1; }}\n", n - 1);
    }
    refused(&text, "nested too deeply");
}

#[test]
fn exponential_expansion_is_refused() {
    for body in ["x = 1;", "", "let r = 1;", "while x {}"] {
        let mut text = format!("shared x; thread t {{ f40(); }} fn f0() {{ {body} }}");
        for n in 1..=40 {
            text += &format!("fn f{n}() {{ f{0}(); f{0}(); }}\n", n - 1);
        }
        refused(&text, "too large");
    }
    let mut text = "thread t { let r = f40(1); } fn f0(a) { return a + a; }".to_string();
    for n in 1..=40 {
        text += &format!("fn f{n}(a) {{ return f{0}(a) * f{0}(a); }}\n", n - 1);
    }
    refused(&text, "too large");
}

#[test]
fn recursion_is_refused() {
    refused("thread t { f(); } fn f() { g(); } fn g() { f(); }", "`f` calls itself");
    refused("thread t {} fn f() { f(); }", "`f` calls itself");
}

#[test]
fn sizes_are_limited() {
    refused("shared a[100000000]; thread t {}", "no size");
    refused("shared a[-1]; thread t {}", "no size");
    refused("shared a[60000], b[60000]; thread t {}", "no size");
    refused("mutex m[1 << 40]; thread t {}", "no size");
    refused("thread t(i) * 4001 {}", "no number of threads");
    refused("thread t(i) * 3000 {} thread u(i) * 3000 {}", "no number of threads");
    refused("thread t(i) * -1 {}", "no number of threads");
    let many: String = (0..5000).map(|n| format!("let r{n} = 0;")).collect();
    refused(&format!("thread t {{ {many} }}"), "too many variables");
    let many: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
    refused(&format!("struct S {{ {} }} thread t {{}}", many.join(", ")), "too many");
}

#[test]
fn garbage_is_refused() {
    let mut seed = 1_u64;
    let mut garbage = String::new();
    while garbage.len() < 1 << 20 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        garbage.push(char::from_u32((seed >> 40) as u32 % 300).unwrap_or(' '));
    }
    assert!(!messages(&garbage).is_empty());
    for one in ["{", "}", "(", ";", "\"", "x", "thread ", "thread t { x = ", "/*", "é", "0", "0x", "fn f(", "a,"] {
        let found = messages(&one.repeat((1 << 20) / one.len()));
        assert!((1..=MAX_DIAGNOSTICS).contains(&found.len()), "{one}: {}", found.len());
    }
}

#[test]
fn no_prefix_of_a_program_is_too_much() {
    let text = include_str!("sample.ut");
    assert_eq!(messages(text), Vec::<String>::new());
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        let _ = program(&text[..end]);
        let _ = program(&text[end..]);
    }
}

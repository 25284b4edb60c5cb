//! What the source calls an object: the variable or the field that it was made for, read from the lines around its constructor.
//!
//! The text is all that there is, so only what cannot be misread counts: `let x = AtomicUsize::new(0)`, `head: Arc::new(…)`, one of several in a tuple or an array,
//! and the receiver of a method where an object has no constructor that is run, as a static.

use super::names::Site;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Source files that have been read.
#[derive(Default)]
pub(crate) struct Sources {
    files: RefCell<FxHashMap<String, Option<Rc<str>>>>,
}

/// Lines that an expression may go back over.
const MOST_LINES: usize = 6;

/// What a value is put into without being something else: the variable is that of what is inside.
const WRAPPERS: [&str; 10] = [
    "Arc::new",
    "Rc::new",
    "Box::new",
    "Box::pin",
    "Arc::pin",
    "Box::leak",
    "Box::into_raw",
    "Some",
    "CachePadded::new",
    "black_box",
];

impl Sources {
    /// What the object is called that was made, or first used, at a place.
    pub(super) fn variable(&self, site: &Site) -> Option<String> {
        variable(&self.before(site)?)
    }

    /// The text before a place, as far as it belongs to the same statement.
    fn before(&self, site: &Site) -> Option<String> {
        let text = self.text(&site.file)?;
        let last = (site.line as usize).checked_sub(1)?;
        let mut before: String = text.lines().nth(last)?.chars().take(site.column as usize - 1).collect();
        for line in text.lines().take(last).collect::<Vec<_>>().into_iter().rev().take(MOST_LINES) {
            let line = line.split("//").next().unwrap_or_default().trim_end();
            if before.contains(" = ") || before.contains(": ") || line.ends_with([';', '}']) {
                break;
            }
            before = format!("{} {}", line, before.trim_start());
        }
        Some(before)
    }

    /// The text of a source file.
    fn text(&self, file: &str) -> Option<Rc<str>> {
        let mut files = self.files.borrow_mut();
        files.entry(file.to_string()).or_insert_with(|| read(file).map(Into::into)).clone()
    }
}

/// The text of a source file. Compilers name files from the folder of the workspace, tests run in that of the package.
pub(crate) fn read(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
}

/// The variable or field of an expression that comes after this text.
fn variable(before: &str) -> Option<String> {
    let before = before.trim_end();
    if let Some(receiver) = before.strip_suffix('.') {
        return element(receiver).or_else(|| last_name(receiver)).filter(|name| name != "self");
    }
    let before = without_wrappers(before);
    if let Some(owner) = field(before) {
        return Some(owner);
    }
    if let Some(pattern) = assigned(before) {
        return Some(pattern);
    }
    let (outside, bracket, index) = sequence(before)?;
    let outside = without_wrappers(outside.strip_suffix("vec!").unwrap_or(outside).trim_end());
    let owner = field(outside).or_else(|| assigned(outside))?;
    match bracket {
        '[' => Some(format!("{owner}[{index}]")),
        _ => {
            let names = owner.strip_prefix('(')?.strip_suffix(')')?;
            let name = names.split(',').nth(index)?.trim().trim_start_matches("mut ");
            is_name(name).then(|| name.to_string())
        }
    }
}

/// The text without calls at its end that only wrap what comes next.
fn without_wrappers(mut text: &str) -> &str {
    loop {
        text = text.trim_end().trim_end_matches('&').trim_end();
        let Some(call) = text.strip_suffix('(') else { return text };
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let start = call.trim_end_matches(is_path).len();
        let callee = call[start..].trim_start_matches(':');
        let is_wrapper = WRAPPERS
            .iter()
            .any(|wrapper| callee.strip_suffix(wrapper).is_some_and(|path| path.is_empty() || path.ends_with("::")));
        if !is_wrapper {
            return text;
        }
        text = &call[..start];
    }
}

/// The field at the end of the text: `head:`.
fn field(text: &str) -> Option<String> {
    let text = text.strip_suffix(':').filter(|text| !text.ends_with(':'))?;
    let name = last_name(text)?;
    // Not a type that is said of a variable.
    let rest = text[..text.len() - name.len()].trim_end();
    (rest.is_empty() || rest.ends_with(['{', ','])).then_some(name)
}

/// What is assigned at the end of the text: `let x: Type =`, `self.x =`, `let (x, y) =`.
fn assigned(text: &str) -> Option<String> {
    let target = text.strip_suffix('=')?;
    if target.ends_with(['=', '<', '>', '!', '+', '-', '*', '/', '|', '&', '^', '%']) {
        return None;
    }
    let target = target.trim_end();
    let pattern =
        ["let ", "static ", "const "].iter().find_map(|word| Some(&target[target.rfind(word)? + word.len()..]));
    let Some(pattern) = pattern else { return last_name(target) };
    let pattern = pattern.trim().trim_start_matches("mut ").trim_start_matches("ref ").trim();
    if pattern.starts_with('(') {
        let end = pattern.find(')')?;
        return Some(pattern[..=end].to_string());
    }
    let name = pattern.split(':').next()?.trim();
    is_name(name).then(|| name.to_string())
}

/// The tuple or the array that the text ends in: what comes before it, its bracket, and how many elements have been.
fn sequence(text: &str) -> Option<(&str, char, usize)> {
    let (mut depth, mut index) = (0usize, 0);
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth > 0 => depth -= 1,
            '(' | '[' => return Some((text[..at].trim_end(), c, index)),
            '{' | ';' => return None,
            ',' if depth == 0 => index += 1,
            _ => {}
        }
    }
    None
}

/// The element at the end of the text: `cells[1]`.
fn element(text: &str) -> Option<String> {
    let (array, index) = text.strip_suffix(']')?.rsplit_once('[')?;
    index.parse::<usize>().ok().and_then(|index| Some(format!("{}[{index}]", last_name(array)?)))
}

/// The name at the end of the text: `x` of `self.x` or `module::x`.
fn last_name(text: &str) -> Option<String> {
    let text = text.trim_end();
    let start = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    is_name(&text[start..]).then(|| text[start..].to_string())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && text != "_"
}

#[cfg(test)]
mod tests {
    use super::variable;

    #[test]
    fn variables_and_fields_are_found() {
        for (before, expected) in [
            ("let x = ", "x"),
            ("    let mut count = Arc::new(", "count"),
            ("let x: Arc<AtomicUsize> = std::sync::Arc::new(", "x"),
            ("let x: Map<u32, Arc<T>> = ", "x"),
            ("self.head = ", "head"),
            ("Queue { head: ", "head"),
            ("Queue { head: Box::new(Node { next: ", "next"),
            ("    tail: CachePadded::new(", "tail"),
            ("Queue { head: AtomicUsize::new(0), tail: ", "tail"),
            ("let (x, y) = (Arc::new(", "x"),
            ("let (x, mut y) = (Arc::new(AtomicUsize::new(0)), Arc::new(", "y"),
            ("let cells = [AtomicUsize::new(0), ", "cells[1]"),
            ("let cells = Arc::new([", "cells[0]"),
            ("let cells = vec![A::new(1, 2), A::new(3, 4), ", "cells[2]"),
            ("Ring { slots: [", "slots[0]"),
            ("let (tx, rx) = ", "(tx, rx)"),
            ("self.cells[1].", "cells[1]"),
            ("COUNTER.", "COUNTER"),
            ("    crate::statics::COUNTER.", "COUNTER"),
            ("    self.head.", "head"),
            ("let old = self.queue.head.", "head"),
        ] {
            assert_eq!(variable(before).as_deref(), Some(expected), "{before}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        for before in [
            "",
            "make(",
            "let x = Mutex::new(",
            "let x = make(1, ",
            "let cells: Vec<_> = (0..2).map(|_| ",
            "if x == ",
            "Counter(",
            "self.",
            "cells[i].",
            "lock.lock().unwrap().",
            "let x = y + ",
            "let _ = ",
            "let Pair { a, b } = ",
            "x += ",
            "} else { ",
            "let (a, (b, c)) = (1, (2, ",
        ] {
            assert_eq!(variable(before), None, "{before}");
        }
    }
}

//! Answers to `unthread robust` and `unthread fences`: for people, and for programs (`docs/report-format.md`).

use super::json::{JsonLocation, JsonStep, SCHEMA, Story, location};
use super::snippet::places;
use super::style::Tone;
use super::table::table;
use super::text::{Text, plural, took, why_stopped};
use super::words::Words;
use crate::base::Span;
use crate::execution::MemoryModel;
use crate::program::{Instr, Ordering, Program};
use crate::robustness::{Answer, Fence, Fences, Purpose, Robustness, Side, Witness};
use crate::search::Statistics;
use crate::trace::Relation;
use serde::Serialize;

/// The answer of `robust`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonRobustness {
    pub schema: u32,
    pub file: String,
    pub program: String,
    pub memory: String,
    pub robust: Option<bool>,
    pub witness: Option<Vec<JsonStep>>,
    pub cycle: Option<Vec<JsonRelated>>,
    pub schedule: Option<String>,
    pub stop: &'static str,
    pub states: u64,
    pub seconds: f64,
}

/// A step of a happens-before cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonRelated {
    pub step: usize,
    pub relation: &'static str,
}

/// The answer of `fences`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonFences {
    pub schema: u32,
    pub file: String,
    pub program: String,
    pub memory: String,
    pub purpose: &'static str,
    pub fences: Vec<JsonFence>,
    pub sets: Vec<Vec<JsonFence>>,
    pub verified: bool,
    pub stop: &'static str,
    pub diff: Option<String>,
    pub seconds: f64,
}

/// A fence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonFence {
    pub thread: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordering: Option<&'static str>,
    pub location: JsonLocation,
}

/// The answer of `robust` for programs.
pub fn robustness_json(program: &Program, memory: MemoryModel, found: &Robustness, seconds: f64) -> JsonRobustness {
    let witness = match &found.answer {
        Answer::NotRobust(witness) => Some(&**witness),
        _ => None,
    };
    let steps = |witness: &Witness| Story::of(program, &witness.trace).steps;
    let related = |&(at, relation): &(usize, Relation)| JsonRelated { step: at + 1, relation: name(relation) };
    JsonRobustness {
        schema: SCHEMA,
        file: program.source.name.clone(),
        program: program.name.clone(),
        memory: memory.to_string(),
        robust: match found.answer {
            Answer::Robust => Some(true),
            Answer::NotRobust(_) => Some(false),
            Answer::Unknown(_) => None,
        },
        witness: witness.map(steps),
        cycle: witness.map(|witness| witness.cycle.iter().map(related).collect()),
        schedule: witness.map(|witness| witness.schedule.to_string()),
        stop: match &found.answer {
            Answer::Robust => "exhausted",
            Answer::NotRobust(_) => "witness",
            Answer::Unknown(stop) => stop.name(),
        },
        states: found.states,
        seconds,
    }
}

/// The answer of `fences` for programs.
pub fn fences_json(
    program: &Program,
    memory: MemoryModel,
    purpose: Purpose,
    found: &Fences,
    seconds: f64,
) -> JsonFences {
    let set = |set: &Vec<Fence>| -> Vec<JsonFence> { set.iter().map(|fence| json_fence(program, *fence)).collect() };
    JsonFences {
        schema: SCHEMA,
        file: program.source.name.clone(),
        program: program.name.clone(),
        memory: memory.to_string(),
        purpose: purpose_name(purpose),
        fences: found.sets.first().map(set).unwrap_or_default(),
        sets: found.sets.iter().map(set).collect(),
        verified: found.verified && !found.sets.is_empty(),
        stop: found.stop.as_ref().map_or("exhausted", |stop| stop.name()),
        diff: found.sets.first().and_then(|set| fences_diff(program, set)),
        seconds,
    }
}

fn json_fence(program: &Program, fence: Fence) -> JsonFence {
    let span = program.routines[fence.routine].spans[fence.pc as usize];
    JsonFence {
        thread: threads(program, fence.routine),
        after: (fence.side == Side::After).then(|| program.source.excerpt(span)),
        state: state(program, fence).map(str::to_string),
        store: fence.side.ordering().map(|_| program.source.excerpt(span)),
        ordering: fence.side.ordering().map(word),
        location: location(program, span),
    }
}

fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Robustness => "robustness",
        Purpose::Correctness => "correctness",
    }
}

fn word(ordering: Ordering) -> &'static str {
    if ordering == Ordering::SeqCst { "seqcst" } else { "release" }
}

/// How many fences, or changes if some are none.
fn changes(set: &[Fence]) -> String {
    match set.iter().all(|fence| fence.side.ordering().is_none()) {
        true => plural(set.len() as u64, "fence", "fences"),
        false => plural(set.len() as u64, "change", "changes"),
    }
}

/// The threads that run a routine.
fn threads(program: &Program, routine: usize) -> String {
    let names: Vec<&str> =
        program.initial.iter().filter(|start| start.routine == routine).map(|start| start.name.as_str()).collect();
    if names.is_empty() { program.routines[routine].name.clone() } else { names.join(", ") }
}

fn state(program: &Program, fence: Fence) -> Option<&str> {
    let automata = program.automata.as_ref().filter(|_| fence.side == Side::Before)?;
    automata.state_at(fence.routine, fence.pc).map(|state| state.name.as_str())
}

impl Text<'_> {
    /// The answer of `robust`.
    pub fn robustness(&self, found: &Robustness, seconds: f64) -> String {
        let done = |states: u64| format!("{}{}", plural(states, "state", "states"), took(Some(seconds)));
        match &found.answer {
            Answer::Robust => {
                let done = format!("{} makes no difference ({})", self.memory, done(found.states));
                self.headline(Tone::Good, "robust", &done)
            }
            Answer::Unknown(stop) => {
                let (why, advice) = why_stopped(stop, &Statistics::default(), self.rules);
                let help = self.style.paint(Tone::Heading, "help:");
                let why = format!("{why} ({})", done(found.states));
                self.headline(Tone::Unsure, "inconclusive", &why) + &format!("{help} {advice}\n")
            }
            Answer::NotRobust(witness) => self.witness(witness),
        }
    }

    fn witness(&self, witness: &Witness) -> String {
        let words = Words { program: self.program, trace: &witness.trace };
        let source = &self.program.source;
        let thread = &witness.trace.threads[witness.attacker.index()].name;
        let (store, ahead) = (source.excerpt(witness.store), source.excerpt(witness.ahead));
        let mut shown = vec![(witness.store, "this store waits".to_string())];
        let what = if witness.store == witness.ahead {
            format!("under {} the block can be freed while thread {thread}'s `{store}` is on its way", self.memory)
        } else {
            shown.push((witness.ahead, "while this goes ahead".to_string()));
            format!("under {} thread {thread} can do `{ahead}` before `{store}`", self.memory)
        };
        let mut text = self.headline(Tone::Bad, "not robust", &what);
        text += &(places(source, &shown, self.style) + "\n\n");
        let cycle: Vec<usize> = witness.cycle.iter().map(|&(at, _)| at).collect();
        text += &table(&Story::of(self.program, &witness.trace), &cycle, self.style);
        text += &format!(
            "\n{}\n",
            self.style.paint(Tone::Heading, "each happens before the next, the last before the first:")
        );
        for &(at, relation) in &witness.cycle {
            let event = &witness.trace.events[at];
            let what = format!("{}: {}", words.thread(event.step.thread), words.event(event));
            text += &format!("  step {:<3} {what}   {}\n", at + 1, self.style.paint(Tone::Faint, name(relation)));
        }
        text + "\n" + &self.schedule(&witness.schedule)
    }

    /// The answer of `fences`.
    pub fn fences(&self, purpose: Purpose, found: &Fences, seconds: f64) -> String {
        let took = format!("{}{}", plural(found.checks, "check", "checks"), took(Some(seconds)));
        let aim = match purpose {
            Purpose::Robustness => format!("{} makes no difference", self.memory),
            Purpose::Correctness => "nothing is wrong".to_string(),
        };
        let mut text = match (&found.sets[..], &found.stop) {
            ([], _) => {
                let why = match purpose {
                    Purpose::Robustness => {
                        "a block can be freed while a store to it is on its way; a seqcst store helps"
                    }
                    Purpose::Correctness => "something is wrong without any delay",
                };
                let what = format!("{why} ({took})");
                self.headline(Tone::Bad, "no fences help", &what)
            }
            ([set, ..], None) if set.is_empty() => {
                self.headline(Tone::Good, "no fences needed", &format!("{aim} ({took})"))
            }
            ([set, ..], None) => {
                let number = changes(set);
                let what = format!("so that {aim}; fewer do not do ({took})");
                self.headline(Tone::Good, &number, &what)
            }
            ([.., set], Some(stop)) => {
                let (why, _) = why_stopped(stop, &Statistics::default(), self.rules);
                let number = changes(set);
                self.headline(
                    Tone::Unsure,
                    "inconclusive",
                    &format!("{why}; at least {number}, such as these ({took})"),
                )
            }
        };
        for (number, set) in found.sets.iter().enumerate() {
            if found.sets.len() > 1 {
                text += &format!("{}\n", self.style.paint(Tone::Heading, &format!("set {}:", number + 1)));
            }
            text += &self.fence_set(set);
        }
        text
    }

    fn fence_set(&self, set: &[Fence]) -> String {
        let source = &self.program.source;
        let mut text = String::new();
        for &fence in set {
            let span = self.program.routines[fence.routine].spans[fence.pc as usize];
            let at = source.line_column(span.start);
            let place = match (state(self.program, fence), fence.side.ordering()) {
                (Some(state), _) => format!("in state {state}"),
                (None, Some(ordering)) => format!("`{}` as a {} store", source.excerpt(span), word(ordering)),
                (None, None) => format!("after `{}`", source.excerpt(span)),
            };
            let threads = threads(self.program, fence.routine);
            text += &format!("  {}:{}:{}: thread {threads}: {place}\n", source.name, at.line, at.column);
        }
        let diff = fences_diff(self.program, set).filter(|_| !set.is_empty());
        text + &diff.map_or(String::new(), |diff| format!("\n{diff}\n"))
    }
}

/// The program's text with the fences, where it is in a language in which that can be said.
pub fn fenced_source(program: &Program, set: &[Fence]) -> Option<String> {
    let mut text = program.source.text.clone();
    for (span, new) in edits(program, set)?.into_iter().rev() {
        text.replace_range(span.start as usize..span.end as usize, &new);
    }
    Some(text)
}

/// What the fences change in the program's text, line by line.
pub fn fences_diff(program: &Program, set: &[Fence]) -> Option<String> {
    let edits = edits(program, set)?;
    let mut diff = format!("--- {0}\n+++ {0}\n", program.source.name);
    let mut start = 0;
    for (number, line) in program.source.text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        let here = edits.iter().filter(|(span, _)| (start..end).contains(&(span.start as usize)));
        let mut new = line.to_string();
        for (span, replacement) in here.rev() {
            let range = span.start as usize - start..(span.end as usize).min(end) - start;
            new.replace_range(range, replacement);
        }
        if new != line {
            diff += &format!("@@ line {} @@\n-{}\n", number + 1, line.trim_end());
            new.lines().for_each(|line| diff += &format!("+{}\n", line.trim_end()));
        }
        start = end;
    }
    Some(diff)
}

/// Pieces of the text and what stands there instead, in order, none inside of another.
fn edits(program: &Program, set: &[Fence]) -> Option<Vec<(Span, String)>> {
    let mut edits = Vec::new();
    for &fence in set {
        match (state(program, fence), fence.side.ordering()) {
            (Some(name), _) => fence_state(program, fence, name, &mut edits),
            (None, Some(ordering)) => edits.push(stronger(program, fence, ordering)?),
            (None, None) => edits.push(fence_after(program, fence)?),
        }
    }
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    edits.dedup();
    Some(edits)
}

/// `x = 1;` becomes `x = 1; fence;`.
fn fence_after(program: &Program, fence: Fence) -> Option<(Span, String)> {
    if program.source.name.ends_with(".litmus") {
        return None;
    }
    let span = program.routines[fence.routine].spans[fence.pc as usize];
    let rest = program.source.text.get(span.end as usize..)?;
    let semicolon = span.end as usize + rest.find(';')?;
    let has_own =
        program.source.text[..semicolon + 1].ends_with(';') && rest[..semicolon - span.end as usize].trim().is_empty();
    let at = if has_own { semicolon + 1 } else { span.end as usize };
    Some((Span::new(at, at), " fence;".to_string()))
}

/// `x = 1;` becomes `x.store(1, release);`.
fn stronger(program: &Program, fence: Fence, ordering: Ordering) -> Option<(Span, String)> {
    if program.source.name.ends_with(".litmus") {
        return None;
    }
    let span = program.routines[fence.routine].spans[fence.pc as usize];
    let text = program.source.text.get(span.start as usize..span.end as usize)?;
    let (statement, end) = text.strip_suffix(';').map_or((text, ""), |statement| (statement, ";"));
    let ordering = word(ordering);
    let new = match statement.strip_suffix(')').filter(|call| call.contains(".store(")) {
        Some(call) => {
            let is_ordering = |text: &str| ["relaxed", "release", "seqcst"].contains(&text.trim());
            let value = call.rsplit_once(',').filter(|(_, last)| is_ordering(last)).map_or(call, |(value, _)| value);
            format!("{value}, {ordering})")
        }
        None => {
            let (left, value) = statement.split_once('=').map(|(left, value)| (left.trim(), value.trim()))?;
            let place = left.trim_end_matches(|c: char| "+-*/%&|^<>".contains(c));
            match left[place.len()..].trim() {
                "" => format!("{place}.store({value}, {ordering})"),
                operator => format!("{0}.store({0} {operator} ({value}), {ordering})", place.trim()),
            }
        }
    };
    Some((span, new + end))
}

/// The state's first transition becomes a fence to a new state, from which its transitions leave.
fn fence_state(program: &Program, fence: Fence, name: &str, edits: &mut Vec<(Span, String)>) {
    let Some(automata) = &program.automata else { return };
    let states = &automata.states[fence.routine];
    let routine = &program.routines[fence.routine];
    let end = states.iter().map(|state| state.start).filter(|&start| start > fence.pc).min();
    let code = fence.pc as usize..end.map_or(routine.code.len(), |end| end as usize);
    let mut fenced = format!("{name}_fenced");
    while states.iter().any(|state| state.name == fenced) {
        fenced.push('_');
    }
    let mut transitions: Vec<Span> = code
        .filter(|&pc| !matches!(routine.code[pc], Instr::Yield | Instr::End))
        .map(|pc| routine.spans[pc])
        .filter(|span| program.source.excerpt(*span).starts_with("transition"))
        .collect();
    transitions.sort_by_key(|span| span.start);
    transitions.dedup();
    for (number, span) in transitions.into_iter().enumerate() {
        let text = &program.source.text[span.start as usize..span.end as usize];
        // Blanks stay as they are: only the name of the state that is left changes.
        let blank = text.find(char::is_whitespace).unwrap_or(text.len());
        let from = blank + text[blank..].find(|c: char| !c.is_whitespace()).unwrap_or(0);
        let rest = &text[(from + name.len()).min(text.len())..];
        let moved = format!("{}{fenced}{rest}", &text[..from]);
        let new = if number == 0 { format!("transition {name} {fenced} mfence\n{moved}") } else { moved };
        edits.push((span, new));
    }
}

fn name(relation: Relation) -> &'static str {
    match relation {
        Relation::ProgramOrder => "program-order",
        Relation::ReadsFrom => "reads-from",
        Relation::StoreOrder => "store-order",
        Relation::FromRead => "from-read",
        Relation::Synchronisation => "synchronisation",
    }
}

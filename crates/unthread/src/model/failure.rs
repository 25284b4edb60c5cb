//! What a check found, for people: the execution as a table with a column per thread, and how to see it again.

use super::orderings::too_weak;
use super::words::{Words, references_left};
use super::{Engine, MemoryModel, Report, StopReason, Verdict, environment, page};
use crate::runtime::ClosureSubject;
use std::path::PathBuf;
use std::time::Duration;
use unthread_checker::base::{FailureKind, Span, ThreadId};
use unthread_checker::engines::replay_closure;
use unthread_checker::report::json::JsonViolation;
use unthread_checker::search::{EngineFailure, Options, Replay, Violation, ViolationKind};
use unthread_checker::trace::Trace;

/// What there is to say about a report.
pub(super) struct Story {
    memory: MemoryModel,
    took: Duration,
    under_sc: Option<bool>,
    told: Vec<Told>,
    events: u64,
    preemptions: Option<u32>,
    left_out: Option<LeftOut>,
    /// Where executions go round in circles that are too long.
    busiest: Option<String>,
    /// An object whose name had to be drawn.
    drawn: Option<String>,
    /// Nothing is wrong, and no operation of two threads met.
    are_apart: bool,
    /// A thread that had not ended when the main thread had.
    left: Option<String>,
    /// A panic that was left to whoever joins the thread.
    panic: Option<String>,
    html: Option<PathBuf>,
}

/// What there is to say of threads that have nothing to do with one another.
pub(super) const APART: &str = "no operation of two threads met: is everything under test built with unthread's types? `cargo unthread lint` lists what is not";

const USE_AFTER_FREE: ViolationKind = ViolationKind::Failure(FailureKind::UseAfterFree);

/// What a thread that uses something gone is told when the execution is followed once more: by then it is known where that was dropped.
fn message_of_use(violation: &Violation, trace: &Trace) -> Option<String> {
    let last = trace.events.last()?.failure.as_ref()?;
    (violation.kind == USE_AFTER_FREE && last.kind == FailureKind::UseAfterFree).then(|| last.message.clone())
}

/// A violation in words.
struct Told {
    message: String,
    /// Where it happens.
    places: String,
    table: String,
    /// What the checker tells of it.
    told: Option<JsonViolation>,
}

/// Executions that were left out: those in which a loop that counts its turns takes many in vain.
pub(super) struct LeftOut {
    /// How many it took.
    pub(super) turns: u32,
    /// What is wrong with one of those executions.
    pub(super) found: Option<Violation>,
}

impl Story {
    pub(super) fn new(
        subject: &ClosureSubject,
        options: &Options,
        report: &Report,
        took: Duration,
        under_sc: Option<bool>,
        left_out: Option<LeftOut>,
    ) -> Story {
        let tell = |violation: &Violation| {
            subject.names.borrow_mut().locates_drops = violation.kind == USE_AFTER_FREE;
            let trace = replay_closure(subject, options, &violation.schedule).ok().map(|replayed| replayed.trace);
            let message = trace.as_ref().and_then(|trace| message_of_use(violation, trace));
            let shown = trace.as_ref().map_or(String::new(), |trace| table(subject, trace));
            let replay = replay_line(options.memory, options.engine, &violation.schedule.to_string());
            let told = trace.map(|trace| {
                let told = page::tell(subject, violation, &trace, replay);
                // What is told of machines is told of stores on their way.
                let sentence = match options.memory.is_language() {
                    true => too_weak(subject, &trace).or_else(|| Some(violation.message.clone())),
                    false => None,
                };
                match references_left(subject, violation, &trace).or(sentence) {
                    Some(sentence) => JsonViolation { sentence, ..told },
                    None => told,
                }
            });
            let message = message.unwrap_or_else(|| violation.message.clone());
            Told { message, places: places(subject, violation), table: shown, told }
        };
        let told: Vec<_> = report.violations.iter().map(tell).collect();
        let html = environment::html().filter(|_| !told.is_empty()).and_then(|folder| {
            let violations: Vec<_> = told.iter().filter_map(|told| told.told.clone()).collect();
            let written = page::write(&folder, report, &violations, took);
            written.inspect_err(|error| eprintln!("UNTHREAD_HTML={}: {error}", folder.display())).ok()
        });
        let (events, preemptions) = (options.limits.events, options.limits.preemptions);
        let busiest = subject.names.borrow().busiest().map(ToString::to_string);
        let are_apart = report.verdict() == Verdict::Verified && subject.counting.meetings.are_missing();
        let drawn = subject.names.borrow().drawn().map(|(kind, site)| format!("{kind} at {site}"));
        let left = subject.names.borrow().left().map(|(thread, site)| {
            format!("{thread} still waits at {site} when main has ended, and the process ends with main (see `all_threads_end`)")
        });
        let panic = subject.names.borrow().panic().map(str::to_string);
        Story {
            memory: options.memory,
            took,
            under_sc,
            told,
            events,
            preemptions,
            left_out,
            busiest,
            drawn,
            are_apart,
            left,
            panic,
            html,
        }
    }

    /// What is wrong.
    pub(super) fn violation(&self, report: &Report) -> String {
        let mut text = String::new();
        for (violation, Told { message, places, table, told }) in report.violations.iter().zip(&self.told) {
            text += &format!("{}: {message}\n{places}\n{table}\n", violation.kind.name());
            if let Some(told) = told.as_ref().filter(|told| told.sentence != violation.message) {
                text += &format!("{}\n", told.sentence);
            }
            text += &match self.under_sc {
                Some(true) => format!("found with {} memory; SC memory has it, too\n", self.memory),
                Some(false) => format!(
                    "found with {} memory; with SC memory it does not happen: a fence or a stronger ordering is missing\n",
                    self.memory
                ),
                None => format!("found with {} memory\n", self.memory),
            };
            text += &format!("replay: {}\n", replay_line(self.memory, report.engine, &violation.schedule.to_string()));
        }
        if let Some(path) = &self.html {
            text += &format!("to look at: {}\n", path.display());
        }
        let when = match report.statistics.executions {
            0 => "in the first execution, after".to_string(),
            _ => format!("after {} in", executions(report)),
        };
        text + &format!("{when} {}", seconds(self.took))
    }

    /// Why the check cannot say anything, where the test is to blame.
    pub(super) fn cannot_say(&self, report: &Report) -> Option<String> {
        match &report.stop {
            StopReason::EventLimit if self.left_out.is_some() => None,
            StopReason::EventLimit => Some(format!(
                "event-limit: an execution has more than {} events{}. A loop that waits for other threads needs a hint: call \
                 `unthread::thread::yield_now()` or `unthread::hint::spin_loop()` in it. If nothing loops, raise `max_branches` (UNTHREAD_MAX_EVENTS){}",
                self.events,
                self.busiest.as_ref().map_or(String::new(), |place| format!(", most of them at {place}")),
                self.panic.as_ref().map_or(String::new(), |panic| format!(". In some execution, {panic}"))
            )),
            StopReason::Nondeterminism(why) => Some(format!(
                "nondeterminism: the test depends on more than the schedule. It did something else when it was run again in the same way: {why}. Threads may depend on \
                 nothing but what they read from `unthread` types: not on addresses, time, random numbers, the order of a `HashMap`, standard atomics, statics or \
                 thread-locals that survive from one execution to the next"
            )),
            StopReason::Hang(why) => Some(format!("hang: {why}")),
            StopReason::Failed(why) => Some(format!(
                "what was found did not happen again: {why}. Either the test reads memory that has been freed, or depends on something \
                     else that `unthread` does not see, or this is a bug of unthread"
            )),
            _ => None,
        }
    }

    /// Whether several threads ran, and nothing that one of them did could matter to another.
    pub(super) fn are_apart(&self) -> bool {
        self.are_apart
    }

    /// A thread that had not ended when the main thread had.
    pub(super) fn left(&self) -> Option<&str> {
        self.left.as_deref()
    }

    /// What was done.
    pub(super) fn summary(&self, report: &Report) -> String {
        let name = report.verdict().name();
        let coverage = report.coverage.as_deref().map_or(String::new(), |coverage| format!(" ({coverage})"));
        let bound = match (&report.stop, self.preemptions) {
            (StopReason::PreemptionLimit, Some(1)) => {
                ": executions with more than 1 preemption are left out".to_string()
            }
            (StopReason::PreemptionLimit, Some(most)) => {
                format!(": executions with more than {most} preemptions are left out")
            }
            (StopReason::EventLimit, _) => self.left_out.as_ref().map_or(String::new(), LeftOut::text),
            _ => String::new(),
        };
        let drawn = self.drawn.as_ref().map_or(String::new(), |drawn| {
            format!("; fewer executions would do if it were known which thread has the memory of what is on the heap ({drawn}): see `unthread::alloc::Allocator`")
        });
        let redundant = match report.statistics.redundant {
            0 => String::new(),
            n => format!(", {n} given up"),
        };
        let failed = report.failures.iter();
        let failed: String =
            failed.map(|EngineFailure { engine, why }| format!("; engine {engine} failed: {why}")).collect();
        format!(
            "{}: {name} by {} with {} memory, {}: {}{redundant} in {}{coverage}{bound}{drawn}{failed}",
            report.program,
            report.engine,
            self.memory,
            report.stop.name(),
            executions(report),
            seconds(self.took)
        )
    }
}

impl LeftOut {
    fn text(&self) -> String {
        let most = match self.turns {
            0 => "turns".to_string(),
            most => format!("more than {most} turns"),
        };
        let found = self.found.as_ref().map_or(String::new(), |violation| {
            let (kind, message) = (violation.kind.name(), violation.message.lines().next().unwrap_or_default());
            format!(". With a scheduler as unfair as that: {kind}: {message}")
        });
        format!(
            ": a loop counts its turns, or allocates; executions are left out in which it takes {most} that change nothing, while others could go on{found}"
        )
    }
}

/// What following one schedule shows.
pub(super) fn of_replay(subject: &ClosureSubject, memory: MemoryModel, replay: &Replay, took: Duration) -> String {
    let mut text = format!("\n{}\n", table(subject, &replay.trace));
    for violation in &replay.violations {
        text += &format!("{}: {}\n{}\n", violation.kind.name(), violation.message, places(subject, violation));
    }
    if replay.violations.is_empty() {
        text += "nothing is wrong with this execution\n";
    }
    text + &format!("replayed with {memory} memory in {}", seconds(took))
}

fn replay_line(memory: MemoryModel, engine: Engine, schedule: &str) -> String {
    let is_named = engine == Engine::Graph && !memory.is_language();
    let engine = if is_named { format!("UNTHREAD_ENGINE={engine} ") } else { String::new() };
    let memory = if memory == MemoryModel::Tso { String::new() } else { format!("UNTHREAD_MEMORY={memory} ") };
    let name = std::thread::current().name().filter(|&name| name != "main").unwrap_or("").to_string();
    let command = environment::command();
    format!("{memory}{engine}UNTHREAD_REPLAY={schedule} {command} {name}").trim_end().to_string()
}

fn executions(report: &Report) -> String {
    match report.statistics.executions {
        0 if !report.violations.is_empty() => "the first execution".to_string(),
        1 => "1 execution".to_string(),
        n => format!("{n} executions"),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

/// Where a violation happens.
fn places(subject: &ClosureSubject, violation: &Violation) -> String {
    let place = |span: Span| subject.site(span).map_or(String::new(), |site| site.to_string());
    let first = violation.span.map(|span| match &violation.thread {
        Some(thread) => format!("  in {thread} at {}\n", place(span)),
        None => format!("  at {}\n", place(span)),
    });
    let others = violation.also.iter().map(|also| format!("  in {} at {}\n", also.thread, place(also.span)));
    first.into_iter().chain(others).collect()
}

/// The steps of an execution: a column per thread.
fn table(subject: &ClosureSubject, trace: &Trace) -> String {
    let threads: Vec<String> = trace.threads.iter().map(|thread| thread.name.clone()).collect();
    let buffered = trace.events.iter().any(|event| !event.buffer.is_empty());
    let mut heading = vec!["step".to_string()];
    heading.extend(threads.iter().cloned());
    heading.extend(["at".to_string()].into_iter().chain(buffered.then(|| "its store buffer".to_string())));
    let (mut rows, words) = (vec![heading], Words { subject, trace });
    for (at, event) in trace.events.iter().enumerate() {
        let mut row = vec![(at + 1).to_string()];
        let ThreadId(acting) = event.step.thread;
        for thread in 0..threads.len() {
            row.push(if thread == acting as usize { words.event(event) } else { String::new() });
        }
        row.push(subject.site(event.span).map_or(String::new(), |site| short(&site.file, site.line)));
        if buffered {
            let waiting = event.buffer.iter().map(|entry| words.stored(entry.loc, entry.value, "="));
            row.push(waiting.collect::<Vec<_>>().join(", "));
        }
        rows.push(row);
    }
    let rows = folded(&rows);
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The most rows that are recognised when they are repeated.
const LONGEST_PERIOD: usize = 6;

/// The rows, without those that do the same as the ones before again and again: a thread that spins.
fn folded(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < rows.len() {
        let times = |period: usize| {
            let same = |again: usize| rows.get(again).is_some_and(|row| row[1..] == rows[again - period][1..]);
            (at + period..).take_while(|&again| same(again)).count() / period
        };
        match (1..=LONGEST_PERIOD).map(|period| (period, times(period))).find(|&(_, times)| times > 2) {
            Some((period, times)) => {
                kept.extend_from_slice(&rows[at..at + period]);
                let mut row = vec![String::new(); rows[at].len()];
                let last = rows[at].iter().skip(1).position(|cell| !cell.is_empty()).unwrap_or(0) + 1;
                row[0] = "…".to_string();
                row[last] = format!("and so on, {times} times more");
                kept.push(row);
                at += period * (times + 1);
            }
            None => {
                kept.push(rows[at].clone());
                at += 1;
            }
        }
    }
    kept
}

/// The file without its folders, and the line.
fn short(file: &str, line: u32) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{name}:{line}")
}

//! Reports for people: a headline per memory model, and for what is wrong the place, the steps, and how to see it again.

use super::Style;
use super::explain::{Explanation, explain};
use super::json::JsonEffort;
use super::snippet::places;
use super::story::Story;
use super::style::Tone;
use super::table::table;
use crate::base::{Schedule, Span, Step, Verdict};
use crate::engines;
use crate::execution::{MemoryModel, Rules, Stuck};
use crate::program::{FinalValue, Program};
use crate::search::{
    Engine, EngineFailure, Observation, Options, Replay, Report, Statistics, StopReason, Violation, ViolationKind,
};
use crate::trace::Trace;

/// Writes about one program under one memory model.
pub struct Text<'a> {
    /// The program.
    pub program: &'a Program,
    /// The memory model.
    pub memory: MemoryModel,
    /// Its rules, as they were used.
    pub rules: Rules,
    /// How it looks.
    pub style: Style,
    /// The command line that replays a schedule.
    pub replay_command: &'a dyn Fn(&Schedule) -> String,
}

impl Text<'_> {
    /// The whole report, and how long it took where that is known.
    pub fn report(&self, report: &Report, seconds: Option<f64>) -> String {
        let mut text = match report.verdict() {
            Verdict::Verified => {
                let done = format!("{}{}", statistics(report), took(seconds));
                self.headline(Tone::Good, "verified", &done) + &self.nothing_ends(report)
            }
            Verdict::Inconclusive => self.inconclusive(report, seconds),
            Verdict::Violation => self.violations(report),
        };
        for observation in &report.observations {
            text += &self.observation(observation, &report.stop);
        }
        text + &self.failures(report)
    }

    /// Engines that failed. Whoever relies on a verdict should know, whoever came to it.
    fn failures(&self, report: &Report) -> String {
        let warning = self.style.paint(Tone::Unsure, "warning:");
        engine_failures(report).map(|failure| format!("{warning} {failure}\n")).collect()
    }

    /// What happened, step by step.
    pub fn execution(&self, replay: &Replay) -> String {
        table(&Story::of(self.program, &replay.trace), &[], self.style)
    }

    /// What one schedule shows.
    pub fn replay(&self, replay: &Replay) -> String {
        let mut text = self.execution(replay) + "\n";
        for violation in &replay.violations {
            text += &self.headline(Tone::Bad, "violation", &sentence(violation));
            text += &self.place_of(violation);
            text += &self.end_values(violation, &replay.trace);
        }
        if replay.violations.is_empty() {
            text += &self.headline(Tone::Good, "nothing wrong", &end(replay));
        }
        if !replay.is_sequential {
            text += &format!("{} sc has no such execution\n", self.style.paint(Tone::Heading, "note:"));
        }
        for observation in replay.observations.iter().filter(|observation| observation.witness.is_some()) {
            text += &format!("{}: satisfied at the end\n", self.source_of(observation.span));
        }
        text
    }

    /// What it took, in more detail.
    pub fn effort(&self, effort: &JsonEffort) -> String {
        let JsonEffort { queries, decisions, conflicts, run_seconds, learn_seconds, solve_seconds } = *effort;
        let whole = (run_seconds + learn_seconds + solve_seconds).max(f64::MIN_POSITIVE);
        let share = |seconds: f64| format!("{:.0} %", 100.0 * seconds / whole);
        let (heading, queries) = (self.style.paint(Tone::Heading, "effort:"), plural(queries, "query", "queries"));
        let (decisions, conflicts) =
            (plural(decisions, "decision", "decisions"), plural(conflicts, "conflict", "conflicts"));
        let (run, learn, solve) = (share(run_seconds), share(learn_seconds), share(solve_seconds));
        format!("{heading} {queries}, {decisions}, {conflicts}; running {run}, learning {learn}, solving {solve}\n")
    }

    pub(super) fn headline(&self, tone: Tone, verdict: &str, rest: &str) -> String {
        let name = &self.program.source.name;
        format!("{name}: {}: {}: {rest}\n", self.memory, self.style.paint(tone, verdict))
    }

    /// A program that never ends has no wrong end: whoever reads "verified" should know.
    fn nothing_ends(&self, report: &Report) -> String {
        if report.statistics.executions > 0 || self.program.automata.is_some() {
            return String::new();
        }
        let note = self.style.paint(Tone::Heading, "note:");
        format!("{note} no execution comes to an end: each goes on for ever, or an `assume` cuts it off\n")
    }

    fn inconclusive(&self, report: &Report, seconds: Option<f64>) -> String {
        let (why, advice) = why_stopped(&report.stop, &report.statistics, self.rules);
        let done = format!("{why} ({}{})", statistics(report), took(seconds));
        let mut text = self.headline(Tone::Unsure, "inconclusive", &done);
        if let StopReason::BufferLimit { store, around } = report.stop {
            let around = around.map(|around| (around, "in this loop".to_string()));
            let store = (store, "this store would have been the next".to_string());
            let shown: Vec<_> = std::iter::once(store).chain(around).collect();
            text += &(places(&self.program.source, &shown, self.style) + "\n");
        }
        if let Some(coverage) = &report.coverage {
            text += &format!("{} {coverage}\n", self.style.paint(Tone::Heading, "covered:"));
        }
        text + &format!("{} {advice}\n", self.style.paint(Tone::Heading, "help:"))
    }

    fn violations(&self, report: &Report) -> String {
        let count = report.violations.len();
        let mut text = String::new();
        for (at, violation) in report.violations.iter().enumerate() {
            let number = if count > 1 { format!("violation {} of {count}", at + 1) } else { "violation".to_string() };
            text += &self.headline(Tone::Bad, &number, &sentence(violation));
            text += &self.violation(report.engine, violation);
        }
        if !matches!(report.stop, StopReason::Exhausted | StopReason::Violation) {
            let (why, advice) = why_stopped(&report.stop, &report.statistics, self.rules);
            let note = self.style.paint(Tone::Heading, "note:");
            text += &format!("{note} there may be more: {why}; {advice}\n");
        }
        text
    }

    fn violation(&self, engine: Engine, violation: &Violation) -> String {
        let mut text = self.place_of(violation) + "\n";
        let options = Options { rules: self.rules, engine, ..Options::new(self.memory) };
        if let Ok(trace) = engines::tell(self.program, &options, violation) {
            let mut story = Story::of(self.program, &trace);
            let Explanation { sentence, events, .. } = explain(violation.kind.name(), &mut story);
            if let Some(sentence) = sentence {
                text += &format!("{} {sentence}\n\n", self.style.paint(Tone::Heading, "why:"));
            }
            text += &table(&story, &events, self.style);
            text += &self.end_values(violation, &trace);
        }
        text += &self.machines(violation);
        text + "\n" + &self.schedule(&violation.schedule) + "\n"
    }

    /// On which machines it shows, and on which it does not.
    fn machines(&self, violation: &Violation) -> String {
        let named = |shows: bool| {
            let machines = violation.machines.iter().filter(move |machine| machine.1 == shows);
            let names: Vec<&str> = machines.map(|machine| machine.0.name()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let is_quiet = violation.machines.contains(&(MemoryModel::Tso, false));
        let quiet = if is_quiet { ": on x86 it does not show" } else { "" };
        let sentence = match (named(true), named(false)) {
            (None, None) => return String::new(),
            (Some(also), None) => format!("also under {also}"),
            (None, Some(not)) => format!("not under {not}{quiet}"),
            (Some(also), Some(not)) => format!("also under {also}, not under {not}{quiet}"),
        };
        format!("{} {sentence}\n", self.style.paint(Tone::Heading, "note:"))
    }

    fn place_of(&self, violation: &Violation) -> String {
        let Some(span) = violation.span else { return String::new() };
        let mut at: Vec<(Span, Vec<&str>)> = vec![(span, violation.thread.as_deref().into_iter().collect())];
        for involved in &violation.also {
            match at.iter_mut().find(|(span, _)| *span == involved.span) {
                Some((_, threads)) => threads.push(&involved.thread),
                None => at.push((involved.span, vec![&involved.thread])),
            }
        }
        let label = |threads: &[&str]| match threads {
            [] => String::new(),
            [thread] => format!("in thread {thread}"),
            threads => format!("in threads {}", threads.join(", ")),
        };
        let at: Vec<_> = at.iter().map(|(span, threads)| (*span, label(threads))).collect();
        places(&self.program.source, &at, self.style) + "\n"
    }

    /// For a broken condition, the values that it mentions.
    fn end_values(&self, violation: &Violation, trace: &Trace) -> String {
        let broken = self.program.conditions.iter().find(|condition| Some(condition.span) == violation.span);
        let (ViolationKind::Condition, Some(condition), Some(state)) = (violation.kind, broken, &trace.final_state)
        else {
            return String::new();
        };
        let mut values = Vec::new();
        condition.proposition.for_each_leaf(&mut |leaf| {
            let value = self.program.value_name(state.value(self.program, leaf));
            let value = format!("{} = {value}", self.leaf(leaf));
            if !values.contains(&value) {
                values.push(value);
            }
        });
        format!("  at the end: {}\n", values.join(", "))
    }

    fn leaf(&self, leaf: FinalValue) -> String {
        match leaf {
            FinalValue::Memory(loc) => self.program.loc_name(loc),
            FinalValue::Register { thread, register } => {
                let start = &self.program.initial[thread];
                format!("{}:{}", start.name, self.program.routines[start.routine].registers[register.0 as usize])
            }
        }
    }

    pub(super) fn schedule(&self, schedule: &Schedule) -> String {
        let (what, how) = (self.style.paint(Tone::Heading, "schedule:"), self.style.paint(Tone::Heading, "replay:"));
        format!("{what} {schedule}\n{how}   {}\n", (self.replay_command)(schedule))
    }

    fn observation(&self, observation: &Observation, stop: &StopReason) -> String {
        let condition = self.source_of(observation.span);
        match (&observation.witness, stop) {
            (Some(witness), _) => format!("{condition}: found\n{}", self.schedule(witness)),
            (None, StopReason::Exhausted) => format!("{condition}: not found\n"),
            (None, _) => format!("{condition}: not found so far\n"),
        }
    }

    /// A condition's place and text.
    fn source_of(&self, span: Span) -> String {
        let source = &self.program.source;
        let at = source.line_column(span.start);
        format!("{}:{}:{}: {}", source.name, at.line, at.column, source.excerpt(span))
    }
}

/// Why a search ended before everything was covered, and what to do about it.
pub fn why_stopped(stop: &StopReason, done: &Statistics, rules: Rules) -> (String, String) {
    let raise = |flag: &str| format!("raise `{flag}`, or make the program smaller");
    match stop {
        StopReason::Exhausted | StopReason::Violation => (String::new(), String::new()),
        StopReason::ExecutionLimit => (
            format!("the limit of {} was met", plural(done.executions, "execution", "executions")),
            raise("--max-executions"),
        ),
        StopReason::PreemptionLimit => {
            ("executions with more preemptions were left out".into(), raise("--preemptions"))
        }
        StopReason::StateLimit => ("the limit on states was met".into(), raise("--max-states")),
        StopReason::TimeLimit => ("the time was up".into(), raise("--max-time")),
        StopReason::MemoryLimit => ("the memory was used up".into(), raise("--max-memory")),
        StopReason::EventLimit => ("some executions are longer than allowed".into(), raise("--max-events")),
        StopReason::BufferLimit { around, .. } => (
            format!("a thread can have more than {} stores on their way", rules.max_buffer),
            format!("raise `--max-buffer` (now {})", rules.max_buffer)
                + if around.is_some() { ", or let the loop fence or wait" } else { "" },
        ),
        StopReason::Interrupted => ("interrupted".into(), "let it run, or bound it with `--max-time`".into()),
        StopReason::Predicted => (
            "only what one execution implies was looked at".into(),
            "leave out `--predict` to look at everything".into(),
        ),
        StopReason::Unsupported(why) => (why.clone(), "choose another with `--engine`".into()),
        StopReason::Nondeterminism(why) => (
            format!("the program is not deterministic: {why}"),
            "threads may depend on nothing but what they read".into(),
        ),
        StopReason::NoExecution => {
            ("no execution comes to its end".into(), "see whether what is assumed can hold".into())
        }
        StopReason::Hang(why) => (why.clone(), "see that every loop comes to an operation".into()),
        StopReason::Failed(why) => {
            (format!("the checker contradicts itself: {why}"), "this is a bug of the checker; please report it".into())
        }
    }
}

/// A sentence for each engine that failed while another one went on.
pub fn engine_failures(report: &Report) -> impl Iterator<Item = String> {
    report.failures.iter().map(|EngineFailure { engine, why }| {
        format!(
            "engine {engine} contradicts itself: {why}; engine {} went on in its place; this is a bug of the checker; please report it",
            report.engine
        )
    })
}

/// The kind and what happened. A deadlock says who waits for what.
fn sentence(violation: &Violation) -> String {
    format!("{}: {}", violation.kind.name(), violation.message)
}

/// What was done, in numbers.
fn statistics(report: &Report) -> String {
    let Statistics { executions, states, histories, borderline, .. } = report.statistics;
    let mut parts = Vec::new();
    // Engines that run executions know no states.
    parts.extend((states > 0).then(|| plural(states, "state", "states")));
    parts.push(plural(executions, "execution", "executions"));
    parts.extend(borderline.map(|borderline| format!("{borderline} borderline")));
    parts.extend(histories.map(|histories| plural(histories, "history", "histories")));
    parts.push(plural(report.final_memories() as u64, "final memory", "final memories"));
    parts.join(", ")
}

pub(super) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

pub(super) fn took(seconds: Option<f64>) -> String {
    seconds.map_or(String::new(), |seconds| format!(", {seconds:.2} s"))
}

fn end(replay: &Replay) -> String {
    match &replay.trace.end {
        Some(Stuck::Finished) => "every thread has ended".to_string(),
        Some(Stuck::Assumed) => "an assumption does not hold, so this execution does not count".to_string(),
        Some(_) => "nothing more can happen".to_string(),
        None => {
            let steps: Vec<String> = replay.possible.iter().map(Step::to_string).collect();
            format!("as far as it goes; possible next: {}", steps.join(", "))
        }
    }
}

//! Engine `lazy`: states that threads reach in turns, and store buffers only where they make a difference
//! (Bouajjani, Calin, Derevenetc and Meyer, Lazy TSO reachability).
//!
//! Search the program with no delays built in, which is SC. What is wrong there is wrong under TSO. Along the way look for attacks. If
//! there is none, the program is robust, so that TSO reaches no other states: everything is covered, loops or not.
//! Otherwise build the delays in that the attack used, and start again. There are only so many pairs of a store and a load, so
//! this ends wherever the searches do. They do not where a loop can pile up stores behind a delayed one: then buffers
//! are bounded, less and less tightly, and nothing is verified.

pub(crate) mod attack;
pub(crate) mod delays;
pub(crate) mod emulation;
mod independence;
pub(crate) mod retrace;
pub(crate) mod search;
mod space;

use super::states::endless::Edges;
use crate::base::{Step, ThreadId};
use crate::execution::{Comparable, interpret};
use crate::program::Program;
use crate::search::findings::Findings;
use crate::search::judge::Judge;
use crate::search::{Options, Progress, Report, StopReason, Watch, is_shown};
use delays::{Delays, Site, can_delay};
use emulation::Plan;
use retrace::Attack;
use search::{LazySearch, Looked, Turn};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Bounds on buffers, one after the other.
const BOUNDS: [usize; 3] = [8, 256, 8192];

/// With the greater bounds, searches of more states than this are given up.
const PATIENCE: u64 = 2_000_000;

/// After a first attack, the search goes on for others until it is about twice as large.
const GO_ON: u64 = 1000;

/// Checks a program under SC or TSO.
pub fn check(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = interpret(program);
    if options.memory.reorders_stores() {
        let why = "engine lazy knows SC and TSO only".to_string();
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    let report = rounds(&interpret(program).restless(), options, watch);
    let is_confirmed = report.violations.iter().all(|violation| is_shown(&subject, options, violation));
    // Otherwise some schedule goes round a loop that the machine would not go round.
    if is_confirmed { report } else { rounds(&subject, options, watch) }
}

/// Round after round, with more and more delays.
fn rounds<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let mut bounds = BOUNDS.iter().filter(|&&bound| bound > options.rules.max_buffer);
    let mut plan = Attempt { delays: Delays::default(), bound: options.rules.max_buffer };
    let mut guesses = Vec::new();
    let (mut states, mut n_rounds) = (0, 0);
    loop {
        let Explored { mut findings, stop, attacks, delays, .. } = explore(subject, &plan, &guesses, options, watch);
        guesses.clear();
        states += findings.statistics.states;
        n_rounds += 1;
        findings.statistics.states = states;
        let is_violation = !options.all_violations && findings.judge.has_violation();
        match stop {
            None if !is_violation && !attacks.is_empty() => {
                let n_known = plan.delays.len();
                for attack in &attacks {
                    let mut guess = plan.delays.clone();
                    attack.iter().for_each(|&(store, load)| _ = guess.add(store, load));
                    guesses.push(Attempt { delays: guess, bound: plan.bound });
                }
                attacks.iter().flatten().for_each(|&(store, load)| _ = plan.delays.add(store, load));
                if plan.delays.len() == n_known {
                    let why = "an attack uses delays that are built in".to_string();
                    return findings.report(StopReason::Failed(why));
                }
            }
            None => {
                let stop = findings.exhausted();
                if !matches!(stop, StopReason::BufferLimit { .. }) || states > PATIENCE {
                    return described(findings, &delays, n_rounds, stop);
                }
                match bounds.next() {
                    Some(&next) => plan.bound = next,
                    None => return described(findings, &delays, n_rounds, stop),
                }
            }
            Some(stop) => return described(findings, &delays, n_rounds, stop),
        }
    }
}

/// What to search.
#[derive(Clone)]
struct Attempt {
    delays: Delays,
    bound: usize,
}

/// What came of one search.
struct Explored<'a, S: Comparable> {
    findings: Findings<'a, S>,
    stop: Option<StopReason>,
    /// For each attack, the delays that it used.
    attacks: Vec<Vec<(Site, Site)>>,
    delays: Delays,
}

/// One search, and with several workers some others on the side, each with the delays of one attack only: if something is wrong,
/// one attack is often enough to show it, and with few delays it is found sooner. What is covered is up to the search with all delays
/// alone, so that the verdict does not depend on the number of workers.
fn explore<'a, S: Comparable>(
    subject: &'a S,
    plan: &Attempt,
    guesses: &[Attempt],
    options: &'a Options,
    watch: &dyn Watch,
) -> Explored<'a, S> {
    let search = |attempt: &Attempt, watch: &dyn Watch| {
        let mut round = Round::new(subject, attempt.delays.clone(), attempt.bound, options);
        let stop = round.run(watch);
        Explored { findings: round.findings, stop, attacks: round.attacks, delays: attempt.delays.clone() }
    };
    let n_helpers = options.jobs.saturating_sub(1).min(guesses.len());
    if n_helpers == 0 || guesses.len() < 2 || options.all_violations {
        return search(plan, watch);
    }
    let is_over = AtomicBool::new(false);
    let cancel = Cancel { watch, is_over: &is_over };
    std::thread::scope(|scope| {
        let help = |guess| {
            let (search, cancel) = (&search, &cancel);
            scope.spawn(move || {
                let found = search(guess, cancel);
                let is_violation = found.findings.judge.has_violation();
                cancel.is_over.fetch_or(is_violation, Relaxed);
                is_violation.then_some(found)
            })
        };
        let helpers: Vec<_> = guesses.iter().take(n_helpers).map(help).collect();
        let mine = search(plan, &cancel);
        is_over.store(true, Relaxed);
        let theirs = helpers.into_iter().filter_map(|helper| helper.join().expect("workers do not panic"));
        if mine.stop == Some(StopReason::Interrupted) { theirs.last().unwrap_or(mine) } else { mine }
    })
}

/// Ends a search when another has found something.
struct Cancel<'a> {
    watch: &'a dyn Watch,
    is_over: &'a AtomicBool,
}

impl Watch for Cancel<'_> {
    fn look(&self, progress: &Progress) -> Option<StopReason> {
        if self.is_over.load(Relaxed) { Some(StopReason::Interrupted) } else { self.watch.look(progress) }
    }

    fn stop(&self) -> Option<StopReason> {
        if self.is_over.load(Relaxed) { Some(StopReason::Interrupted) } else { self.watch.stop() }
    }
}

/// The delays that an attack used. If no load went ahead, it is enough that the stores wait, until their blocks are freed.
fn delays_of(attack: Attack) -> Vec<(Site, Site)> {
    match attack.delays.is_empty() {
        true => attack.stores.into_iter().map(|store| (store, store)).collect(),
        false => attack.delays,
    }
}

/// The report, with what was covered.
fn described<S: Comparable>(mut findings: Findings<'_, S>, delays: &Delays, n_rounds: u64, stop: StopReason) -> Report {
    findings.coverage = Some(match delays.len() {
        0 => "executions without delays".to_string(),
        delays => format!("executions with {delays} kinds of delays, found in {n_rounds} rounds"),
    });
    findings.report(stop)
}

/// One search.
struct Round<'a, S: Comparable> {
    search: LazySearch<'a, S>,
    findings: Findings<'a, S>,
    edges: Option<Edges>,
    attacks: Vec<Vec<(Site, Site)>>,
}

impl<'a, S: Comparable> Round<'a, S> {
    fn new(subject: &'a S, delays: Delays, bound: usize, options: &'a Options) -> Round<'a, S> {
        let program = subject.code();
        let attacks = options.memory.keeps_store_order() && can_delay(program, options.memory);
        let eager = !subject.has_plain_cells();
        // Where races matter, or threads wait for what they spin on, it matters where others are.
        let reduces = eager && !subject.notices_spinning();
        let edges = (program.automata.is_none() && subject.has_cycles()).then(Edges::default);
        Round {
            search: LazySearch::new(subject, Plan { memory: options.memory, delays, bound, eager, attacks, reduces }),
            findings: Findings::new(subject, options),
            edges,
            attacks: Vec::new(),
        }
    }

    /// Searches until there is nothing more to look at, or more delays are to be built in. Otherwise says why it stopped.
    fn run(&mut self, watch: &dyn Watch) -> Option<StopReason> {
        let (mut looked_at, mut enough) = (0, u64::MAX);
        while let Some(at) = self.search.space.next() {
            looked_at += 1;
            self.judge_state(at);
            match self.search.look(at) {
                Looked::Turns(turns) => self.judge_turns(at, &turns),
                Looked::Attack => {}
                Looked::Witness(at) => {
                    enough = enough.min(2 * looked_at + GO_ON);
                    let attack = self.search.retrace(at).attack;
                    self.attacks.extend(attack.map(delays_of));
                }
            }
            self.findings.statistics.states = self.search.space.len() as u64;
            if let Some(stop) = self.findings.stop() {
                return Some(stop);
            }
            if looked_at >= enough {
                return None;
            }
            if let Some(stop) = self.search.stop(looked_at, &self.findings.options.limits, watch) {
                return Some(stop);
            }
        }
        if self.attacks.is_empty() {
            self.judge_all();
        }
        None
    }

    /// Data races and goals.
    fn judge_state(&mut self, at: u32) {
        let judge: &mut Judge<'_, S> = &mut self.findings.judge;
        if self.search.space.row(at)[0] == 0 && judge.looks_at_states() {
            judge.look_at(&self.search.state_at(at), || self.search.steps(at));
        }
    }

    /// Failures, deadlocks and final states.
    fn judge_turns(&mut self, at: u32, turns: &[Turn]) {
        let mut is_end = true;
        for (thread, moves, reached) in turns {
            is_end &= moves.is_empty();
            for (next, &reached) in moves.iter().zip(reached) {
                self.findings.statistics.steps += 1;
                if let Some(failure) = &next.failure {
                    let state = self.search.state_at(at);
                    let step = Step { thread: ThreadId(*thread), action: next.action };
                    let path = || [self.search.steps(at), vec![step]].concat();
                    let thread = &state.threads[*thread as usize];
                    let span = self.findings.subject.span(&thread.local);
                    self.findings.judge.failed(thread, span, step, failure, path);
                }
                if let Some(edges) = &mut self.edges {
                    edges.add(at, reached);
                }
            }
        }
        if is_end {
            let state = self.search.state_at(at);
            self.findings.ended(&self.search.emulation.machine, &state, || self.search.steps(at));
            if let Some(edges) = &mut self.edges {
                edges.end(at);
            }
        }
    }

    /// What can only be said once everything was looked at.
    fn judge_all(&mut self) {
        if let Some(thread) = self.search.met_bound.take() {
            self.findings.met_buffer_bound(&thread);
            return;
        }
        let Some(edges) = self.edges.take() else { return };
        let search = &self.search;
        let is_turn = |&at: &u32| search.space.row(at)[0] == 0;
        let endless = edges.without_end(search.space.len()).filter(is_turn);
        let n_ended = |at: &u32| search.n_ended(*at);
        if let Some(at) = endless.min_by_key(|at| (std::cmp::Reverse(n_ended(at)), *at)) {
            self.findings.judge.endless(&search.state_at(at), || search.steps(at));
        }
    }
}

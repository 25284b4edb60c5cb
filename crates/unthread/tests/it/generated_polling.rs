//! Generated tests in which threads poll locks: what happens turn by turn also happens where loops wait.
//!
//! Only loops with few turns are run turn by turn, so this finds what waiting misses, not the reverse.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use unthread::model::{Builder, Engine, MemoryModel, StopReason};
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unthread::sync::{Arc, Mutex, RwLock};
use unthread::thread;
use unthread_generate::{cases, check_all};

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Command {
    Add,
    Look,
    /// Behind a pointer.
    Push,
    TryAdd,
    Store,
    /// Until the number in the mutex is so large.
    PollNumber(usize),
    PollWriting,
    /// Until there is something to take.
    PollQueue,
    PollTrying,
    PollBoth,
}

const COMMANDS: [Command; 13] = [
    Command::Add,
    Command::Add,
    Command::Look,
    Command::Push,
    Command::Push,
    Command::TryAdd,
    Command::Store,
    Command::PollNumber(1),
    Command::PollNumber(2),
    Command::PollWriting,
    Command::PollQueue,
    Command::PollTrying,
    Command::PollBoth,
];

/// One list of commands for each thread.
type Script = Vec<Vec<Command>>;

fn scripts() -> impl Strategy<Value = Script> {
    let command = prop::sample::select(&COMMANDS[..]);
    prop::collection::vec(prop::collection::vec(command, 1..3), 2..3)
}

/// Turns of a loop that is run turn by turn.
const TURNS: usize = 3;

#[derive(Default)]
struct Shared {
    number: Mutex<usize>,
    queue: RwLock<Vec<usize>>,
    flag: AtomicUsize,
}

impl Shared {
    fn add(&self, number: &mut usize) -> usize {
        *number += 1;
        *number
    }

    /// Does whatever polling commands wait for.
    fn end_polls<'c>(&self, commands: impl Iterator<Item = &'c Command>) {
        let (mut numbers, mut flag) = (0, false);
        for command in commands {
            match command {
                Command::PollNumber(least) => numbers = numbers.max(*least),
                Command::PollWriting => numbers = 2,
                Command::PollBoth => flag = true,
                Command::PollQueue => {
                    self.run(Command::Push, true);
                }
                _ => {}
            }
        }
        (0..numbers).for_each(|_| _ = self.run(Command::Add, true));
        if flag {
            self.run(Command::Store, true);
        }
    }

    /// Does what the command says and gives what it saw.
    fn run(&self, command: Command, waits: bool) -> usize {
        match command {
            Command::Add => self.add(&mut self.number.lock().unwrap()),
            Command::Look => *self.number.lock().unwrap(),
            Command::Push => {
                let mut queue = self.queue.write().unwrap();
                queue.push(7);
                queue.len()
            }
            Command::TryAdd => self.number.try_lock().map_or(0, |mut number| self.add(&mut number)),
            Command::Store => self.flag.swap(1, Relaxed),
            Command::PollNumber(least) => poll(waits, || Some(*self.number.lock().unwrap()).filter(|&n| n >= least)),
            // Changes the number in place while it is too small.
            Command::PollWriting => poll(waits, || {
                let mut number = self.number.lock().unwrap();
                *number = (*number).max(1);
                Some(*number).filter(|&number| number > 1)
            }),
            Command::PollQueue => poll(waits, || self.queue.write().unwrap().pop()),
            Command::PollTrying => poll(waits, || self.number.try_lock().ok().map(|mut number| self.add(&mut number))),
            Command::PollBoth => poll(waits, || {
                let number = self.number.lock().unwrap();
                (self.flag.load(Relaxed) == 1).then_some(*number)
            }),
        }
    }
}

fn poll(waits: bool, look: impl Fn() -> Option<usize>) -> usize {
    let mut turns = 0;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        if !waits {
            turns += 1;
            unthread::assume(turns < TURNS);
        }
        thread::yield_now();
    }
}

/// What the threads of a script can see; nothing if there are too many executions.
fn outcomes(script: &Script, memory: MemoryModel, waits: bool) -> Option<BTreeSet<Vec<Vec<usize>>>> {
    let (seen, script) = (StdArc::new(StdMutex::new(BTreeSet::new())), script.clone());
    let all = seen.clone();
    let mut builder = Builder::new();
    builder.memory(memory).engine(Engine::Dpor).max_permutations = Some(2_000);
    let report = builder.report(move || {
        let shared = Arc::new(Shared::default());
        let threads: Vec<_> = script
            .iter()
            .map(|commands| {
                let (commands, shared) = (commands.clone(), shared.clone());
                thread::spawn(move || commands.iter().map(|&command| shared.run(command, waits)).collect::<Vec<_>>())
            })
            .collect();
        shared.end_polls(script.iter().flatten());
        let outcome = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        all.lock().unwrap().insert(outcome);
    });
    let outcomes = seen.lock().unwrap().clone();
    assert!(report.violations.is_empty(), "{report:?}");
    (report.stop == StopReason::Exhausted).then_some(outcomes)
}

#[test]
fn what_happens_turn_by_turn_happens_where_loops_wait() {
    let compared = std::cell::Cell::new(0);
    let cases = cases(60);
    check_all(scripts(), cases, |script| {
        for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
            let Some(turn_by_turn) = outcomes(script, memory, false) else { continue };
            let Some(waiting) = outcomes(script, memory, true) else { continue };
            compared.set(compared.get() + 1);
            let missed: Vec<_> = turn_by_turn.difference(&waiting).collect();
            if !missed.is_empty() {
                return Err(format!("{memory:?}: {missed:?} are missed, there are {waiting:?}"));
            }
        }
        Ok(())
    });
    assert!(compared.get() > 2 * cases, "only {} of {} were compared", compared.get(), 3 * cases);
}

//! The search: every state of a program with some delays built in, and from each of them every attack.
//!
//! A state is a row `[phase, what the phase knows, shared, thread, stores that wait, thread, …]`. Phase 0: threads take turns. Then, for each
//! attacker, one phase in which it hides stores and one after its load (`attacks.rs`; why that is enough: `../attack.rs`). States that cost few switches between
//! threads come first: what goes wrong rarely needs many.

mod attacks;
mod moves;

use super::attack::{Bus, Chain, Hidden};
use super::delays::{Site, overtakers_ahead, site};
use super::emulation::{Emulation, Object, Plan, Touched};
use super::space::{How, Origin, Space};
use crate::base::{Action, Failure, Step, ThreadId};
use crate::execution::visited::Interner;
use crate::execution::{Comparable, MemoryModel, State, Status, ThreadState};
use crate::program::futures::Futures;
use crate::program::{Instr, Program};
use crate::search::{Limits, Progress, StopReason, Watch};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Price of a step that concerns nobody else, of another step, of a switch to another thread on top of it, and of a choice on top of it.
const ALONE: u64 = 1;
const STEP: u64 = 1024;
const SWITCH: u64 = 8 * STEP;
const CHOICE: u64 = 4 * STEP;

/// Numbers of a row before those of the threads.
const HEAD: usize = 3;

/// A state or a part of one that is forgotten.
const GONE: u32 = u32::MAX;

/// Forget everything rather than remember more than this.
const MOST_KNOWN: usize = 1 << 20;

/// How often the watch is asked, in states.
const LOOK_EVERY: u64 = 1024;

/// A search under way.
pub(crate) struct LazySearch<'a, S: Comparable> {
    pub(crate) emulation: Emulation<'a, S>,
    pub(crate) space: Space<S::Thread>,
    hidden: Interner<Hidden>,
    chains: Interner<Chain>,
    known: FxHashMap<(u32, u32, u32, u16), Rc<[Move]>>,
    /// Whether to look for attacks.
    attacks: bool,
    memory: MemoryModel,
    /// For each routine and instruction, whether something that can overtake a store follows before the thread has to wait for its stores.
    overtakers_ahead: Vec<Vec<bool>>,
    /// Whether threads wait for others to end: then it matters who the attacker is, even when it has stopped.
    joins: bool,
    /// What threads can still do, unless all steps are to be looked at.
    futures: Option<Futures>,
    /// A thread would have stored, but for the bound on its buffer.
    pub(crate) met_bound: Option<ThreadState<S::Thread>>,
    row: Vec<u32>,
    to: Vec<u32>,
}

/// A step of one thread and the parts that it leads to.
pub(crate) struct Move {
    pub(crate) action: Action,
    pub(crate) failure: Option<Failure>,
    shared: u32,
    thread: u32,
    waiting: u32,
    forked: Option<(u32, u32)>,
    touched: Touched,
    bus: Bus,
    /// Whether it leaves a goal state.
    is_goal: bool,
}

/// A thread, what it can do, and the states that this leads to.
pub(crate) type Turn = (u16, Rc<[Move]>, Vec<u32>);

/// What came of looking at a state.
pub(crate) enum Looked {
    /// A state of phase 0, with the moves that are possible there: nothing can happen if there are none.
    Turns(Vec<Turn>),
    /// A state within an attack.
    Attack,
    /// An attack that succeeds, in this state.
    Witness(u32),
}

impl<'a, S: Comparable> LazySearch<'a, S> {
    pub(crate) fn new(subject: &'a S, plan: Plan) -> Self {
        let (attacks, reduces, memory) = (plan.attacks, plan.reduces, plan.memory);
        let program = subject.code();
        let mut search = LazySearch {
            emulation: Emulation::new(subject, plan),
            space: Space::new(),
            hidden: Interner::new(),
            chains: Interner::new(),
            known: FxHashMap::default(),
            attacks,
            memory,
            overtakers_ahead: program.routines.iter().map(|of| overtakers_ahead(program, of, memory)).collect(),
            joins: joins(subject.code()),
            futures: reduces.then(|| Futures::of(subject.code())),
            met_bound: None,
            row: Vec::new(),
            to: Vec::new(),
        };
        let (state, sites) = search.start(&mut Vec::new());
        let mut row = vec![0, 0, search.space.shared.intern(&state.shared)];
        for (thread, sites) in state.threads.into_iter().zip(&sites) {
            row.extend(search.intern(thread, sites));
        }
        search.space.insert(&row, Origin { from: 0, thread: 0, how: How::Hide }, 0);
        search
    }

    /// Why to stop now, after so many states were looked at, if there is a reason.
    pub(crate) fn stop(&self, looked_at: u64, limits: &Limits, watch: &dyn Watch) -> Option<StopReason> {
        let states = self.space.len() as u64;
        if self.space.is_full() || states > limits.states {
            return Some(StopReason::StateLimit);
        }
        let progress = || Progress { states, waiting: self.space.n_waiting(), executions: 0 };
        if looked_at.is_multiple_of(LOOK_EVERY) { watch.look(&progress()) } else { watch.stop() }
    }

    /// The first state, in which threads have gone on as far as nobody can see.
    pub(crate) fn start(&self, steps: &mut Vec<Step>) -> (State<S::Thread>, Vec<Vec<Site>>) {
        let mut state = self.emulation.machine.start();
        let mut sites = vec![Vec::new(); state.threads.len()];
        for (index, sites) in sites.iter_mut().enumerate() {
            self.emulation.fill(&mut state, sites, ThreadId(index as u16), steps);
        }
        (state, sites)
    }

    /// The numbers of a thread and of its stores that wait.
    fn intern(&mut self, mut thread: ThreadState<S::Thread>, sites: &[Site]) -> [u32; 2] {
        let buffer = std::mem::take(&mut thread.buffer);
        [self.space.threads.intern(&thread), self.space.lists.intern(&buffer, sites)]
    }

    /// The state of a row. Buffers are empty but for the one thread whose turn it is.
    fn state(&self, row: &[u32], acting: Option<usize>) -> (State<S::Thread>, Vec<Site>) {
        let mut sites = Vec::new();
        let threads = row[HEAD..].chunks_exact(2).enumerate().map(|(index, part)| {
            let number = if part[0] == GONE { 0 } else { part[0] };
            let mut thread = self.space.threads.get(number).clone();
            if acting == Some(index) {
                for store in self.space.lists.stores(part[1]) {
                    thread.buffer.push(store.loc, store.value, store.access);
                    sites.push(store.site);
                }
            }
            thread
        });
        let threads = threads.collect();
        (State { shared: self.space.shared.get(row[2]).clone(), threads }, sites)
    }

    /// The state with this number, with all stores that wait. Requires one of phase 0.
    pub(crate) fn state_at(&self, at: u32) -> State<S::Thread> {
        let row = self.space.row(at);
        let (mut state, _) = self.state(row, None);
        for (thread, part) in state.threads.iter_mut().zip(row[HEAD..].chunks_exact(2)) {
            for store in self.space.lists.stores(part[1]) {
                thread.buffer.push(store.loc, store.value, store.access);
            }
        }
        state
    }

    /// How many threads have ended in a state.
    pub(crate) fn n_ended(&self, at: u32) -> usize {
        let threads = self.space.row(at)[HEAD..].chunks_exact(2).map(|part| self.space.threads.get(part[0]));
        threads.filter(|thread| thread.status == Status::Ended).count()
    }

    /// Looks at a state and adds those that it leads to.
    pub(crate) fn look(&mut self, at: u32) -> Looked {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(self.space.row(at));
        let looked = match row[0] {
            0 => self.take_turns(at, &row),
            phase => {
                let attacker = ((phase - 1) / 2) as u16;
                let closed =
                    if phase % 2 == 1 { self.hide(at, &row, attacker) } else { self.follow(at, &row, attacker) };
                closed.map_or(Looked::Attack, Looked::Witness)
            }
        };
        self.row = row;
        looked
    }

    fn take_turns(&mut self, at: u32, row: &[u32]) -> Looked {
        let n_threads = (row.len() - HEAD) / 2;
        let mut turns = Vec::with_capacity(n_threads);
        for index in self.bus_holder(row).into_iter().chain(0..n_threads) {
            if let Some(moves) = self.moves_of_nobodys_concern(row, index, None) {
                let before = self.space.len();
                let reached = self.follow_all(at, row, index, &moves, ALONE);
                // A state that was known already would let a circle put the others off for ever.
                if self.space.len() > before {
                    return Looked::Turns(vec![(index as u16, moves, reached)]);
                }
            }
        }
        for index in 0..n_threads {
            let moves = self.moves(row, index);
            let reached = self.follow_all(at, row, index, &moves, STEP);
            turns.push((index as u16, moves, reached));
            if self.attacks {
                self.begin_attack(at, row, index);
            }
        }
        Looked::Turns(turns)
    }

    /// Adds the states that a thread's moves lead to.
    fn follow_all(&mut self, at: u32, row: &[u32], index: usize, moves: &[Move], price: u64) -> Vec<u32> {
        let mut to = std::mem::take(&mut self.to);
        let follow = |next: &Move| {
            successor(row, index, next, &mut to);
            self.insert(&to, at, index as u16, How::Step(next.action), price)
        };
        let reached = moves.iter().map(follow).collect();
        self.to = to;
        reached
    }

    /// The moves of a thread, if there are any and none concerns another thread but `gone`, now or later.
    fn moves_of_nobodys_concern(&mut self, row: &[u32], index: usize, gone: Option<usize>) -> Option<Rc<[Move]>> {
        self.futures.as_ref()?;
        let moves = self.moves(row, index);
        // While a thread holds the bus, others can do nothing that touches memory: whatever they can do, they can do as well after it.
        let holds_bus = self.bus_holder(row) == Some(index);
        let is_plain = |next: &Move| {
            let keeps_bus = next.bus == Bus::Untouched || holds_bus;
            next.failure.is_none() && next.forked.is_none() && keeps_bus && !next.is_goal
        };
        let concerned = |next: &Move| !holds_bus && self.concerns_others(row, index, gone, &next.touched);
        (!moves.is_empty() && moves.iter().all(|next| is_plain(next) && !concerned(next))).then_some(moves)
    }

    fn concerns_others(&self, row: &[u32], index: usize, gone: Option<usize>, touched: &Touched) -> bool {
        let Some(futures) = &self.futures else { return true };
        if touched.is_empty() {
            return false;
        }
        let subject = self.emulation.machine.subject;
        row[HEAD..].chunks_exact(2).enumerate().any(|(other, part)| {
            if other == index || Some(other) == gone {
                return false;
            }
            let thread = self.space.threads.get(part[0]);
            let waits = |store: super::space::Waiting| touched.iter().any(|access| access.0 == Object::Cell(store.loc));
            thread.status == Status::Running && futures.concerns(site(subject, &thread.local), touched)
                || self.space.lists.stores(part[1]).any(waits)
        })
    }

    /// The thread that keeps others from memory.
    fn bus_holder(&self, row: &[u32]) -> Option<usize> {
        let bus = self.emulation.machine.subject.bus()?;
        self.space.shared.get(row[2]).holders(bus).next().map(|holder| holder.index())
    }

    fn bus_is_free(&self, row: &[u32], attacker: u16) -> bool {
        let bus = self.emulation.machine.subject.bus();
        let shared = self.space.shared.get(row[2]);
        bus.is_none_or(|bus| shared.holders(bus).all(|holder| holder.0 == attacker))
    }

    fn insert(&mut self, row: &[u32], from: u32, thread: u16, how: How, price: u64) -> u32 {
        let before = self.space.origin(from);
        let is_switch = from != 0 && before.thread != thread;
        let is_choice = matches!(how, How::Step(Action::Choose(_)) | How::Hidden(Action::Choose(_)));
        let price = price + if is_switch { SWITCH } else { 0 } + if is_choice { CHOICE } else { 0 };
        self.space.insert(row, Origin { from, thread, how }, price)
    }
}

fn joins(program: &Program) -> bool {
    let mut code = program.routines.iter().flat_map(|routine| &routine.code);
    program.finally.is_some() || code.any(|instr| matches!(instr, Instr::Join { .. }))
}

/// The row that a move leads to.
fn successor(row: &[u32], index: usize, next: &Move, to: &mut Vec<u32>) {
    to.clear();
    to.extend_from_slice(row);
    to[2] = next.shared;
    (to[HEAD + 2 * index], to[HEAD + 2 * index + 1]) = (next.thread, next.waiting);
    to.extend(next.forked.into_iter().flat_map(|(thread, waiting)| [thread, waiting]));
}

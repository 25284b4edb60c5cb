//! The search: every state of a program with some delays built in, and from each of them every attack.
//!
//! A state is a row `[phase, what the phase knows, shared, thread, stores that wait, thread, …]`. Phase 0: threads take turns. Then, for each
//! attacker, one phase in which it hides stores and one after its load (`attack.rs`). States that cost few switches between
//! threads come first: what goes wrong rarely needs many.

use super::attack::{Bus, Chain, Hidden};
use super::delays::{Site, overtakers_ahead};
use super::emulation::{Emulation, Mode, Object, Plan, Touched, touch_block, touch_cell, touched_cell};
use super::independence::Futures;
use super::space::{How, NOTHING, Origin, Space};
use crate::execution::{
    Buffer, Failure, Interpreter, IrThread, MemoryModel, Operation, State, Status, Subject, ThreadId, ThreadState,
};
use crate::explore::visited::Interner;
use crate::program::{Access, Instr, Program};
use crate::schedule::{Action, Step};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
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

/// A search under way.
pub(super) struct Search<'a> {
    pub(super) emulation: Emulation<'a>,
    pub(super) space: Space,
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
    pub(super) met_bound: Option<ThreadState<IrThread>>,
    row: Vec<u32>,
    to: Vec<u32>,
}

/// A step of one thread and the parts that it leads to.
pub(super) struct Move {
    pub(super) action: Action,
    pub(super) failure: Option<Failure>,
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
pub(super) type Turn = (u16, Rc<[Move]>, Vec<u32>);

/// What came of looking at a state.
pub(super) enum Looked {
    /// A state of phase 0, with the moves that are possible there: nothing can happen if there are none.
    Turns(Vec<Turn>),
    /// A state within an attack.
    Attack,
    /// An attack that succeeds, in this state.
    Witness(u32),
}

impl<'a> Search<'a> {
    pub(super) fn new(subject: &'a Interpreter<'a>, plan: Plan) -> Self {
        let (attacks, reduces, memory) = (plan.attacks, plan.reduces, plan.memory);
        let routines = &subject.program().routines;
        let mut search = Search {
            emulation: Emulation::new(subject, plan),
            space: Space::new(),
            hidden: Interner::new(),
            chains: Interner::new(),
            known: FxHashMap::default(),
            attacks,
            memory,
            overtakers_ahead: routines.iter().map(|routine| overtakers_ahead(routine, memory)).collect(),
            joins: joins(subject.program()),
            futures: reduces.then(|| Futures::of(subject.program())),
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

    /// The first state, in which threads have gone on as far as nobody can see.
    pub(super) fn start(&self, steps: &mut Vec<Step>) -> (State<IrThread>, Vec<Vec<Site>>) {
        let mut state = self.emulation.machine.start();
        let mut sites = vec![Vec::new(); state.threads.len()];
        for (index, sites) in sites.iter_mut().enumerate() {
            self.emulation.fill(&mut state, sites, ThreadId(index as u16), steps);
        }
        (state, sites)
    }

    /// The numbers of a thread and of its stores that wait.
    fn intern(&mut self, mut thread: ThreadState<IrThread>, sites: &[Site]) -> [u32; 2] {
        let buffer = std::mem::take(&mut thread.buffer);
        [self.space.threads.intern(&thread), self.space.lists.intern(&buffer, sites)]
    }

    /// The state of a row. Buffers are empty but for the one thread whose turn it is.
    fn state(&self, row: &[u32], acting: Option<usize>) -> (State<IrThread>, Vec<Site>) {
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
    pub(super) fn state_at(&self, at: u32) -> State<IrThread> {
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
    pub(super) fn n_ended(&self, at: u32) -> usize {
        let threads = self.space.row(at)[HEAD..].chunks_exact(2).map(|part| self.space.threads.get(part[0]));
        threads.filter(|thread| thread.status == Status::Ended).count()
    }

    /// Looks at a state and adds those that it leads to.
    pub(super) fn look(&mut self, at: u32) -> Looked {
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
            thread.status == Status::Running && futures.concerns(super::delays::site(subject, &thread.local), touched)
                || self.space.lists.stores(part[1]).any(waits)
        })
    }

    /// A thread hides its first store: the one that it is at and that may not wait, or the oldest that waits, to go ahead
    /// with a load that is not allowed to.
    fn begin_attack(&mut self, at: u32, row: &[u32], index: usize) {
        let thread = self.space.threads.get(row[HEAD + 2 * index]);
        if thread.status != Status::Running {
            return;
        }
        let operation = self.emulation.machine.subject.operation(&thread.local);
        let site = super::delays::site(self.emulation.machine.subject, &thread.local);
        let list = row[HEAD + 2 * index + 1];
        match operation {
            Operation::Read { .. } if list != NOTHING => {
                let stores: Vec<_> = self.space.lists.stores(list).collect();
                if self.emulation.may_read(site, stores.iter().map(|store| store.site)) {
                    return;
                }
                let mut hidden = Hidden::new(stores[0].loc, stores[0].value, true);
                stores.iter().for_each(|store| hidden.store(store.loc, store.value));
                let mut to = row.to_vec();
                (to[0], to[1]) = (1 + 2 * index as u32, self.hidden.intern(&hidden));
                to[HEAD + 2 * index + 1] = NOTHING;
                self.insert(&to, at, index as u16, How::Hide, STEP);
            }
            Operation::Write { loc, value, .. }
                if list == NOTHING && Emulation::is_buffered(&operation) && !self.emulation.delays.may_wait(site) =>
            {
                self.hide_store(at, row, index, Hidden::new(loc, value, self.memory != MemoryModel::Pso));
            }
            _ => {}
        }
    }

    /// The attacker performs a store that is hidden, the first.
    fn hide_store(&mut self, at: u32, row: &[u32], index: usize, hidden: Hidden) {
        let (mut state, _) = self.state(row, None);
        let step = Step { thread: ThreadId(index as u16), action: Action::Run };
        if !self.emulation.machine.can_take(&state, step) {
            return;
        }
        if self.emulation.machine.apply(&mut state, step).buffered {
            let mut to = row.to_vec();
            (to[0], to[1]) = (1 + 2 * index as u32, self.hidden.intern(&hidden));
            self.put_thread(&mut to, index, &state);
            let mut touched = Touched::new();
            touch_block(&mut touched, hidden.first);
            self.go_on_hiding(at, to, index, &hidden, &touched, (How::Hidden(Action::Run), STEP));
        }
    }

    /// Adds the state after an attacker's step: it goes on, or stops there, if the step can happen before something.
    fn go_on_hiding(
        &mut self,
        at: u32,
        mut to: Vec<u32>,
        index: usize,
        hidden: &Hidden,
        touched: &Touched,
        (how, price): (How, u64),
    ) {
        if !self.can_close(&to, index, &hidden.touched_by_first()) {
            return;
        }
        let attacker = self.space.threads.get(to[HEAD + 2 * index]);
        let (routine, pc) = super::delays::site(self.emulation.machine.subject, &attacker.local);
        if self.overtakers_ahead[routine as usize][pc as usize] {
            self.insert(&to, at, index as u16, how, price);
        }
        // What concerns nobody happens before nothing.
        if !touched.is_empty() && self.concerns_others(&to, index, None, touched) {
            (to[0], to[1]) = (2 + 2 * index as u32, self.chains.intern(&Chain::new(hidden.first, touched)));
            if !self.joins {
                to[HEAD + 2 * index] = GONE;
            }
            self.insert(&to, at, index as u16, how, price);
        }
    }

    /// Whether a thread other than the attacker can still do something that comes before the first hidden store.
    fn can_close(&self, row: &[u32], attacker: usize, first: &Touched) -> bool {
        self.concerns_others(row, attacker, None, first)
    }

    /// Forgets hidden stores that the attacker cannot come back to.
    fn tidy_hidden(&self, hidden: &mut Hidden, attacker: &ThreadState<IrThread>) {
        let Some(futures) = &self.futures else { return };
        let site = super::delays::site(self.emulation.machine.subject, &attacker.local);
        hidden.newest.retain(|&(loc, _)| futures.concerns(site, &touched_cell(loc, Mode::Write)));
    }

    /// Forgets of a chain what cannot make another thread take part.
    fn tidy_chain(&self, chain: &mut Chain, row: &[u32], attacker: u16) {
        let Some(futures) = &self.futures else { return };
        let subject = self.emulation.machine.subject;
        let running = |index: u16| {
            let thread = self.space.threads.get(row[HEAD + 2 * index as usize]);
            (thread.status == Status::Running).then(|| super::delays::site(subject, &thread.local))
        };
        chain.members.retain(|&member| running(member).is_some());
        let n_threads = ((row.len() - HEAD) / 2) as u16;
        let strangers: SmallVec<[Site; 8]> = (0..n_threads)
            .filter(|&index| index != attacker && !chain.members.contains(&index))
            .filter_map(running)
            .collect();
        let has_waiting = row[HEAD..].chunks_exact(2).any(|part| part[1] != NOTHING);
        chain.keep(|access| {
            let touched: Touched = smallvec![access];
            has_waiting || strangers.iter().any(|&site| futures.concerns(site, &touched))
        });
    }

    fn put_thread(&mut self, row: &mut [u32], index: usize, state: &State<IrThread>) {
        let mut thread = state.threads[index].clone();
        thread.buffer = Buffer::default();
        row[HEAD + 2 * index] = self.space.threads.intern(&thread);
    }

    /// The phase in which an attacker hides its stores. Gives a state in which the attack succeeds, if this is it.
    fn hide(&mut self, at: u32, row: &[u32], attacker: u16) -> Option<u32> {
        let index = attacker as usize;
        let first = self.hidden.get(row[1]).touched_by_first();
        if !self.can_close(row, index, &first) {
            return None;
        }
        let others = || (0..(row.len() - HEAD) / 2).filter(|&other| other != index);
        for other in self.bus_holder(row).filter(|&holder| holder != index).into_iter().chain(others()) {
            if let Some(moves) = self.moves_of_nobodys_concern(row, other, None) {
                let before = self.space.len();
                self.follow_all(at, row, other, &moves, ALONE);
                if self.space.len() > before {
                    return None;
                }
            }
        }
        if self.attack(at, row, index) {
            return None;
        }
        for other in others() {
            let moves = self.moves(row, other);
            self.follow_all(at, row, other, &moves, STEP);
        }
        None
    }

    /// The attacker goes on. Says whether it went somewhere new with a step that concerns nobody else.
    fn attack(&mut self, at: u32, row: &[u32], index: usize) -> bool {
        let hidden = self.hidden.get(row[1]).clone();
        let (mut state, _) = self.state(row, None);
        for &(loc, value) in &hidden.newest {
            state.threads[index].buffer.push(loc, value, Access::Atomic);
        }
        let thread = ThreadId(index as u16);
        let mut steps = Vec::new();
        self.emulation.machine.operation_steps(&state, thread, &mut steps);
        let operation = self.emulation.machine.subject.operation(&state.threads[index].local);
        let shows = hidden.lets_ahead(&operation);
        if shows && self.emulation.machine.bus_is_taken(&state, thread) {
            return false;
        }
        let mut touched = Touched::new();
        match operation {
            Operation::Read { loc, .. } if !hidden.contains(loc) => touch_cell(&mut touched, loc, Mode::Read),
            Operation::Write { loc, .. } if shows => touch_cell(&mut touched, loc, Mode::Write),
            Operation::Read { loc, .. } | Operation::Write { loc, .. } => touch_block(&mut touched, loc),
            _ => {}
        }
        let concerns = self.concerns_others(row, index, None, &touched);
        let price = if concerns { STEP } else { ALONE };
        let before = self.space.len();
        for step in steps {
            let mut next = state.clone();
            let performed = self.emulation.machine.apply(&mut next, step);
            if performed.failure.is_some_and(|failure| failure.kind.is_fatal()) {
                continue;
            }
            let mut hidden = hidden.clone();
            let mut how = How::Hidden(step.action);
            match performed.written {
                Some((loc, value)) if shows => {
                    next.shared.write(loc, value);
                    how = How::Shown;
                }
                Some((loc, value)) => hidden.store(loc, value),
                None => {}
            }
            hidden.pass(&operation);
            self.tidy_hidden(&mut hidden, &next.threads[index]);
            let mut to = row.to_vec();
            to[1] = self.hidden.intern(&hidden);
            to[2] = self.space.shared.intern(&next.shared);
            self.put_thread(&mut to, index, &next);
            self.go_on_hiding(at, to, index, &hidden, &touched, (how, price));
        }
        self.futures.is_some() && !concerns && self.space.len() > before
    }

    /// The phase after an attacker's load. Gives a state in which the attack succeeds.
    fn follow(&mut self, at: u32, row: &[u32], attacker: u16) -> Option<u32> {
        let chain = self.chains.get(row[1]).clone();
        for index in (0..(row.len() - HEAD) / 2).filter(|&index| index != attacker as usize) {
            let mut to = std::mem::take(&mut self.to);
            for next in self.moves(row, index).iter() {
                let forked = next.forked.map(|_| ((row.len() - HEAD) / 2) as u16);
                let Some(mut chain) = chain.extend(index as u16, &next.touched, next.bus, forked) else { continue };
                successor(row, index, next, &mut to);
                let is_closed = chain.is_closed();
                if !is_closed && !self.can_close(&to, attacker as usize, &chain.first) {
                    continue;
                }
                self.tidy_chain(&mut chain, &to, attacker);
                to[1] = self.chains.intern(&chain);
                let reached = self.insert(&to, at, index as u16, How::Step(next.action), STEP);
                if is_closed && self.bus_is_free(&to, attacker) {
                    return Some(reached);
                }
            }
            self.to = to;
        }
        None
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

    /// What a thread can do in the program with its delays. Depends on what is shared, the thread, its stores and its number, but for
    /// a thread that joins others.
    fn moves(&mut self, row: &[u32], index: usize) -> Rc<[Move]> {
        let part = HEAD + 2 * index;
        let key = (row[2], row[part], row[part + 1], index as u16);
        if let Some(moves) = self.known.get(&key) {
            return Rc::clone(moves);
        }
        let mut moves = Vec::new();
        moves.extend(self.flush(row, index));
        let joins = self.operate(row, index, &mut moves);
        let moves: Rc<[Move]> = moves.into();
        if !joins {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            self.known.insert(key, Rc::clone(&moves));
        }
        moves
    }

    /// The oldest store that waits reaches memory.
    fn flush(&mut self, row: &[u32], index: usize) -> Option<Move> {
        let (first, rest) = self.space.lists.split(row[HEAD + 2 * index + 1])?;
        let (mut state, _) = self.state(row, None);
        let thread = ThreadId(index as u16);
        if self.emulation.machine.bus_is_taken(&state, thread) {
            return None;
        }
        let failure = state.shared.check(first.loc).err();
        if failure.is_none() {
            state.shared.write(first.loc, first.value);
        }
        let mut touched = Touched::new();
        touch_cell(&mut touched, first.loc, Mode::Write);
        let mut next = Move {
            action: Action::Flush(0),
            failure,
            shared: self.space.shared.intern(&state.shared),
            thread: row[HEAD + 2 * index],
            waiting: rest,
            forked: None,
            touched,
            bus: Bus::Untouched,
            is_goal: false,
        };
        // There is room now for a store that had none.
        let operation = self.emulation.machine.subject.operation(&state.threads[index].local);
        if self.emulation.eager && Emulation::is_buffered(&operation) {
            let mut after = row.to_vec();
            (after[2], after[HEAD + 2 * index + 1]) = (next.shared, rest);
            let (mut state, mut sites) = self.state(&after, Some(index));
            self.emulation.fill(&mut state, &mut sites, thread, &mut Vec::new());
            [next.thread, next.waiting] = self.intern(state.threads.swap_remove(index), &sites);
        }
        Some(next)
    }

    /// The thread performs its operation. Says whether that depends on other threads.
    fn operate(&mut self, row: &[u32], index: usize, moves: &mut Vec<Move>) -> bool {
        let (state, sites) = self.state(row, Some(index));
        let thread = ThreadId(index as u16);
        let machine = &self.emulation.machine;
        if state.threads[index].status != Status::Running {
            return false;
        }
        let operation = machine.subject.operation(&state.threads[index].local);
        let joins = matches!(operation, Operation::Join { .. } | Operation::JoinAll);
        let at = self.emulation.site(&state, thread);
        if self.emulation.is_full(&operation, sites.len()) {
            if self.emulation.delays.may_wait(sites[0]) && self.met_bound.is_none() {
                self.met_bound = Some(state.threads[index].clone());
            }
            return joins;
        }
        if matches!(operation, Operation::Read { .. }) && !self.emulation.may_read(at, sites.iter().copied()) {
            return joins;
        }
        let mut steps = Vec::new();
        machine.operation_steps(&state, thread, &mut steps);
        let bus = machine.subject.bus();
        let bus = match operation {
            Operation::Lock { lock, .. } if Some(lock) == bus => Bus::Taken,
            Operation::Unlock { lock, .. } if Some(lock) == bus => Bus::GivenBack,
            _ => Bus::Untouched,
        };
        let automata = machine.subject.program().automata.as_ref();
        let is_goal =
            automata.and_then(|automata| automata.state_at(at.0 as usize, at.1)).is_some_and(|state| state.goal);
        for step in steps {
            let (mut next, mut next_sites) = (state.clone(), sites.clone());
            let performed = self.emulation.perform(&mut next, &mut next_sites, step, &mut Vec::new());
            let at_once = match operation {
                Operation::Read { loc, .. } => !state.threads[index].buffer.contains(loc),
                Operation::Write { .. } => {
                    !performed.buffered || sites.is_empty() && !self.emulation.delays.may_wait(at)
                }
                _ => true,
            };
            let mut touched = self.emulation.touched(&state, thread, &operation, &performed, at_once);
            if !self.joins {
                touched.retain(|access| !matches!(access.0, Object::Thread(_)));
            }
            let forked = next.threads.get(state.threads.len()).cloned().map(|child| {
                let mut child_sites = Vec::new();
                let id = ThreadId(state.threads.len() as u16);
                self.emulation.fill(&mut next, &mut child_sites, id, &mut Vec::new());
                let child = next.threads.get(state.threads.len()).cloned().unwrap_or(child);
                (child, child_sites)
            });
            let forked = forked.map(|(child, sites)| self.intern(child, &sites).into());
            let [thread, waiting] = self.intern(next.threads.swap_remove(index), &next_sites);
            let shared = self.space.shared.intern(&next.shared);
            let failure = performed.failure;
            moves.push(Move { action: step.action, failure, shared, thread, waiting, forked, touched, bus, is_goal });
        }
        joins
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

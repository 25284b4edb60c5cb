//! The phases in which one thread attacks: it hides stores, goes ahead of them, and others follow.

use super::{ALONE, GONE, HEAD, LazySearch, STEP, successor};
use crate::base::{Action, Step, ThreadId};
use crate::engines::lazy::attack::{Chain, Hidden};
use crate::engines::lazy::delays::{Site, site};
use crate::engines::lazy::emulation::{Mode, Touched, is_buffered, touch_block, touch_cell, touched_cell};
use crate::engines::lazy::space::{How, NOTHING};
use crate::execution::{Buffer, Comparable, State, Status, ThreadState};
use crate::program::Access;
use smallvec::{SmallVec, smallvec};

impl<S: Comparable> LazySearch<'_, S> {
    /// A thread hides its first store: the one that it is at and that may not wait, or the oldest that waits, to go ahead
    /// with a load that is not allowed to.
    pub(super) fn begin_attack(&mut self, at: u32, row: &[u32], index: usize) {
        let thread = self.space.threads.get(row[HEAD + 2 * index]);
        if thread.status != Status::Running {
            return;
        }
        let operation = self.emulation.machine.subject.operation(&thread.local);
        let site = site(self.emulation.machine.subject, &thread.local);
        let list = row[HEAD + 2 * index + 1];
        if operation.is_read() && list != NOTHING {
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
        } else if let Some((loc, value)) = operation.written(0)
            && list == NOTHING
            && is_buffered(&operation)
            && !self.emulation.delays.may_wait(site)
        {
            self.hide_store(at, row, index, Hidden::new(loc, value, !self.memory.reorders_stores()));
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
        let (routine, pc) = site(self.emulation.machine.subject, &attacker.local);
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
    fn tidy_hidden(&self, hidden: &mut Hidden, attacker: &ThreadState<S::Thread>) {
        let Some(futures) = &self.futures else { return };
        let site = site(self.emulation.machine.subject, &attacker.local);
        hidden.newest.retain(|&(loc, _)| futures.concerns(site, &touched_cell(loc, Mode::Write)));
    }

    /// Forgets of a chain what cannot make another thread take part.
    fn tidy_chain(&self, chain: &mut Chain, row: &[u32], attacker: u16) {
        let Some(futures) = &self.futures else { return };
        let subject = self.emulation.machine.subject;
        let running = |index: u16| {
            let thread = self.space.threads.get(row[HEAD + 2 * index as usize]);
            (thread.status == Status::Running).then(|| site(subject, &thread.local))
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

    fn put_thread(&mut self, row: &mut [u32], index: usize, state: &State<S::Thread>) {
        let mut thread = state.threads[index].clone();
        thread.buffer = Buffer::default();
        row[HEAD + 2 * index] = self.space.threads.intern(&thread);
    }

    /// The phase in which an attacker hides its stores. Gives a state in which the attack succeeds, if this is it.
    pub(super) fn hide(&mut self, at: u32, row: &[u32], attacker: u16) -> Option<u32> {
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
        match operation.loc() {
            Some(loc) if operation.is_read() && !hidden.contains(loc) => touch_cell(&mut touched, loc, Mode::Read),
            Some(loc) if operation.is_write() && shows => touch_cell(&mut touched, loc, Mode::Write),
            Some(loc) if operation.is_read() || operation.is_write() => touch_block(&mut touched, loc),
            _ => {}
        }
        let concerns = self.concerns_others(row, index, None, &touched);
        let price = if concerns { STEP } else { ALONE };
        let before = self.space.len();
        for step in steps {
            let mut next = state.clone();
            let performed = self.emulation.machine.apply(&mut next, step);
            if performed.failure.is_some() {
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
    pub(super) fn follow(&mut self, at: u32, row: &[u32], attacker: u16) -> Option<u32> {
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
}

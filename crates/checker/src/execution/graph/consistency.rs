//! What clocks cannot tell: the order of SeqCst operations, and the orders of machines.
//!
//! An event that is added last, reads the newest write or writes last is before nothing, so it never closes a cycle.
//! These questions are asked only where something else was done.
//!
//! In the relations of a language, a thread that was forked begins with an event of its own, behind those of the
//! graph: what is before the fork is before that, and that is before all that the thread does.

use super::relation::{Relation, ones};
use super::{Event, Graph, INITIAL, Id, Kind, LocId, Mode, NOWHERE, Order, SeqCst};
use crate::base::Loc;

/// What a machine does not order and should.
#[derive(Default)]
pub(crate) struct Unordered {
    /// Two accesses to plain data.
    pub(crate) races: Vec<(Id, Id)>,
    /// An access and a block that is freed.
    pub(crate) late: Vec<(Id, Loc)>,
    /// An object that is dropped, and a use of it.
    pub(crate) used: Vec<(Loc, Id)>,
}

impl Graph {
    /// Whether the graph is an execution as far as all events together are concerned. Coherence and atomicity are kept
    /// where sources and places are chosen.
    pub(crate) fn is_consistent(&self) -> bool {
        match self.axioms.order {
            Order::Language if self.n_seq_cst < 2 => true,
            Order::Language => match self.axioms.seq_cst {
                SeqCst::None => true,
                SeqCst::Rc11 => self.seq_cst_order(&self.rc11_base(), None),
                SeqCst::Cpp20 => self.seq_cst_order(&self.communication(|_, _| true), Some(&self.strong_order())),
            },
            Order::Sc | Order::Tso | Order::Pso => self.machine_order().is_acyclic(),
        }
    }

    /// Whether SeqCst operations can be in one order: `([SC] | [F];hb?);base;([SC] | hb?;[F])` and, with C++20,
    /// `[SC];shb;[SC]`; with RC11, `[F];(hb | hb;eco;hb);[F]`.
    fn seq_cst_order(&self, base: &Relation, strong: Option<&Relation>) -> bool {
        let n = self.nodes();
        let happens_before = self.happens_before();
        let all: Vec<usize> = (0..self.len()).filter(|&at| self.events[at].is_seq_cst()).collect();
        let is_fence = |at: usize| self.events[at].kind == Kind::Fence;
        let mut ends = Relation::new(n);
        for &to in &all {
            ends.add(to, to);
            if is_fence(to) {
                (0..n).filter(|&from| happens_before.has(from, to)).for_each(|from| ends.add(to, from));
            }
        }
        let mut order = Relation::new(n);
        for &from in &all {
            let mut reached = Relation::new(n);
            reached.add_row(0, base.row(from));
            if is_fence(from) {
                ones(happens_before.row(from)).for_each(|through| reached.add_row(0, base.row(through)));
            }
            let meets = |to: usize| reached.row(0).iter().zip(ends.row(to)).any(|(a, b)| a & b != 0);
            all.iter().filter(|&&to| meets(to)).for_each(|&to| order.add(from, to));
        }
        match strong {
            Some(strong) => {
                for &from in &all {
                    all.iter().filter(|&&to| strong.has(from, to)).for_each(|&to| order.add(from, to));
                }
            }
            None => {
                let far = happens_before.then(&self.communication(|_, _| true)).then(&happens_before);
                for &from in all.iter().filter(|&&at| is_fence(at)) {
                    let related = |to: usize| happens_before.has(from, to) || far.has(from, to);
                    all.iter().filter(|&&to| is_fence(to) && related(to)).for_each(|&to| order.add(from, to));
                }
            }
        }
        if self.axioms.sc_fence_is_global {
            for &from in all.iter().filter(|&&at| is_fence(at)) {
                let comes_after = |to: usize| to != from && self.events[to].needs(&self.events[from]);
                all.iter().filter(|&&to| is_fence(to) && comes_after(to)).for_each(|&to| order.add(from, to));
            }
        }
        order.is_acyclic()
    }

    /// `scb = sb | sb≠loc;hb;sb≠loc | hb&loc | mo | rb`.
    fn rc11_base(&self) -> Relation {
        let n = self.nodes();
        let happens_before = self.happens_before();
        let program_order = self.program_order();
        let mut elsewhere = Relation::new(n);
        let mut base = program_order.clone();
        let same = |a: usize, b: usize| {
            let loc = |at: usize| self.events.get(at).map_or(NOWHERE, |event| event.loc);
            loc(a) != NOWHERE && loc(a) == loc(b)
        };
        for from in 0..n {
            ones(program_order.row(from)).filter(|&to| !same(from, to)).for_each(|to| elsewhere.add(from, to));
            ones(happens_before.row(from)).filter(|&to| same(from, to)).for_each(|to| base.add(from, to));
        }
        base.unite(&elsewhere.then(&happens_before).then(&elsewhere));
        let reads_before = self.axioms.sc_reads_before;
        base.unite(&self.communication(|a, b| b.is_write() && (a.is_write() || reads_before)));
        base
    }

    /// `shb = (sb | [SC];sw;[SC] | sb;hb;sb)⁺`.
    fn strong_order(&self) -> Relation {
        let program_order = self.program_order();
        let mut strong = program_order.then(&self.happens_before()).then(&program_order);
        strong.unite(&program_order);
        for (at, event) in self.events.iter().enumerate() {
            if event.kind == Kind::Read && event.mode != Mode::Plain && event.source != INITIAL && !event.mode.is_lock()
            {
                self.add_synchronised(&mut strong, at as Id);
            }
        }
        strong.closure()
    }

    /// Adds the SeqCst operations that synchronise by way of a read.
    fn add_synchronised(&self, relation: &mut Relation, read: Id) {
        let event = self.event(read);
        let thread = |event: &Event| self.thread(event.thread).iter().copied();
        let is_fence = |id: &Id| self.event(*id).kind == Kind::Fence && self.event(*id).is_seq_cst();
        let mut ends: Vec<Id> = thread(event).skip(event.index as usize + 1).filter(is_fence).collect();
        ends.extend(Some(read).filter(|_| event.is_seq_cst()));
        let mut head = event.source;
        while head != INITIAL {
            let write = self.event(head);
            let fences = thread(write).take(write.index as usize).filter(is_fence);
            let itself = Some(head).filter(|_| write.is_seq_cst());
            if write.mode != Mode::Plain {
                for start in fences.chain(itself) {
                    ends.iter().for_each(|&end| relation.add(start as usize, end as usize));
                }
            }
            head = if write.update { write.source } else { INITIAL };
        }
    }

    /// How many events there are, with the begins of threads.
    fn nodes(&self) -> usize {
        self.len() + self.threads.len()
    }

    /// The threads that were forked, each with its begin and the fork.
    fn begins(&self) -> impl Iterator<Item = (u16, usize, Id)> {
        let threads = self.threads.iter().enumerate();
        threads.filter_map(|(number, thread)| Some((number as u16, self.len() + number, thread.fork?)))
    }

    fn program_order(&self) -> Relation {
        let mut order = Relation::new(self.nodes());
        for (thread, begin, _) in self.begins() {
            self.thread(thread).iter().for_each(|&to| order.add(begin, to as usize));
        }
        for thread in &self.threads {
            for (at, &from) in thread.events.iter().enumerate() {
                thread.events[at + 1..].iter().for_each(|&to| order.add(from as usize, to as usize));
            }
        }
        order
    }

    fn happens_before(&self) -> Relation {
        let mut order = Relation::new(self.nodes());
        for (to, event) in self.events.iter().enumerate() {
            self.add_before(&mut order, event, to);
        }
        for (_, begin, fork) in self.begins() {
            self.add_before(&mut order, self.event(fork), begin);
            order.add(fork as usize, begin);
        }
        order
    }

    /// Adds what happens before an event to what happens before a node.
    fn add_before(&self, order: &mut Relation, event: &Event, to: usize) {
        for (number, thread) in self.threads.iter().enumerate() {
            let before = &thread.events[..(event.hb.get(number as u16) as usize).min(thread.events.len())];
            before.iter().filter(|&&from| from as usize != to).for_each(|&from| order.add(from as usize, to));
        }
        let begun = self.begins().filter(|&(thread, begin, _)| event.hb.get(thread) > 0 && begin != to);
        begun.for_each(|(_, begin, _)| order.add(begin, to));
    }

    /// The pairs of `eco` that are asked for. Every access has its place between two writes or at one.
    fn communication(&self, include: impl Fn(&Event, &Event) -> bool) -> Relation {
        let mut relation = Relation::new(self.nodes());
        let at = |event: &Event| match event.kind {
            Kind::Write => Some(event.place * 2),
            Kind::Read => Some(self.place_of(event.source) * 2 + 1),
            _ => None,
        };
        for loc in &self.locs {
            for &from in &loc.accesses {
                let Some(first) = at(self.event(from)) else { continue };
                for &to in &loc.accesses {
                    let later = at(self.event(to)).is_some_and(|second| first < second);
                    if later && include(self.event(from), self.event(to)) {
                        relation.add(from as usize, to as usize);
                    }
                }
            }
        }
        relation
    }

    /// The order in which a machine without, or with, store buffers lets events happen: writes when they reach memory.
    fn machine_order(&self) -> Relation {
        let mut order = Relation::new(self.len());
        for thread in &self.threads {
            for (at, &id) in thread.events.iter().enumerate() {
                self.add_preserved(&mut order, id, &thread.events[at + 1..]);
            }
            if let Some(fork) = thread.fork {
                thread.events.iter().for_each(|&id| order.add(fork as usize, id as usize));
            }
        }
        for (to, event) in self.events.iter().enumerate() {
            if event.is_read() {
                if event.source != INITIAL && self.event(event.source).thread != event.thread {
                    order.add(event.source as usize, to);
                }
                let next = self.writes(event.loc).get(self.place_of(event.source) as usize);
                if let Some(&next) = next.filter(|_| event.kind == Kind::Read) {
                    order.add(to, next as usize);
                }
            }
            if event.kind == Kind::JoinAll {
                let lasts = self.threads.iter().filter_map(|thread| thread.events.last());
                lasts.filter(|&&last| event.needs(self.event(last))).for_each(|&last| {
                    if last as usize != to {
                        order.add(last as usize, to);
                    }
                });
            }
        }
        for loc in &self.locs {
            loc.writes.windows(2).for_each(|pair| order.add(pair[0] as usize, pair[1] as usize));
        }
        order
    }

    /// Races under a machine's order: accesses to plain data that nothing but themselves orders. And accesses to
    /// blocks that are not before those are freed; `is_in` says whether a location is in a block. And uses of objects that are
    /// not before those are dropped, which happens right after an event.
    pub(crate) fn order_violations(
        &self,
        is_in: impl Fn(LocId, Loc) -> bool,
        dropped: &[(Option<Id>, Loc, Id)],
    ) -> Unordered {
        let order = self.machine_order().closure();
        let Unordered { mut races, mut late, mut used } = Unordered::default();
        for &(after, object, user) in dropped {
            let is_before = |after: Id| after == user || order.has(user as usize, after as usize);
            if !after.is_some_and(is_before) {
                used.push((object, user));
            }
        }
        let is_between = |a: usize, b: usize| ones(order.row(a)).any(|through| order.has(through, b));
        for (number, loc) in self.locs.iter().enumerate() {
            for (at, &first) in loc.accesses.iter().enumerate() {
                for &second in &loc.accesses[at + 1..] {
                    let (a, b) = (self.event(first), self.event(second));
                    let (from, to) = (first as usize, second as usize);
                    if a.conflicts(b) && !is_between(from, to) && !is_between(to, from) {
                        races.push((first, second));
                    }
                }
                for &free in &self.frees {
                    let Kind::Free(block) = self.event(free).kind else { continue };
                    if is_in(number as LocId, block) && !order.has(first as usize, free as usize) {
                        late.push((first, block));
                    }
                }
            }
        }
        Unordered { races, late, used }
    }

    /// Adds what an event of a thread stays before.
    fn add_preserved(&self, order: &mut Relation, id: Id, later: &[Id]) {
        let first = self.event(id);
        if self.axioms.order == Order::Sc || !first.buffered {
            return later.iter().for_each(|&to| order.add(id as usize, to as usize));
        }
        let mut barrier = self.axioms.order == Order::Tso;
        for &to in later {
            let event = self.event(to);
            barrier |= event.mode.releases() && (event.buffered || event.kind == Kind::Fence);
            let same_loc = event.buffered && event.loc == first.loc;
            if event.drains || (event.buffered && barrier) || same_loc {
                order.add(id as usize, to as usize);
            }
            if event.drains {
                return;
            }
        }
    }
}

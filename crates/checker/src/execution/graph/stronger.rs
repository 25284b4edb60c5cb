//! A graph as it is, with stronger orderings: could it still be?
//!
//! Requires a graph whose events have come in an order in which each follows what it depends on.

use super::{Axioms, Event, Graph, INITIAL, Id, Kind, Mode};
use smallvec::SmallVec;

/// Why a graph is no execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The access is not coherent with what happens before it.
    Access(Id),
    /// There is no order of SeqCst operations, or of all events of a machine.
    Order,
}

impl Graph {
    /// The same graph where events have other modes.
    pub(crate) fn with_modes(&self, mode: impl Fn(Id) -> Mode) -> Graph {
        let mut graph = self.clone();
        for id in 0..self.len() as Id {
            let mut event = self.event(id).clone();
            event.mode = mode(id);
            let (index, before) = (event.index, graph.before(event.thread, event.index));
            graph.set_clocks(&mut event, index, before);
            graph.replace(id, event);
        }
        graph
    }

    /// Whether the graph is one of another memory model, too.
    pub(crate) fn is_one_of(&self, axioms: Axioms) -> bool {
        let mut graph = self.clone();
        graph.axioms = axioms;
        graph.with_modes(|id| self.event(id).mode).flaw().is_none()
    }

    /// Why the graph is no execution, if so.
    pub(crate) fn flaw(&self) -> Option<Flaw> {
        let stale = (0..self.len() as Id).find(|&id| !self.fits(self.event(id)));
        stale.map(Flaw::Access).or_else(|| (!self.is_consistent()).then_some(Flaw::Order))
    }

    /// Whether an access is coherent with everything that happens before it.
    fn fits(&self, event: &Event) -> bool {
        let Some(before) = self.before(event.thread, event.index) else { return true };
        let before = &self.event(before).hb;
        match event.kind {
            Kind::Read => self.is_coherent(event, Some(before)),
            Kind::Write => self.oldest_seen(event.loc, before) < event.place,
            _ => true,
        }
    }

    /// Events that synchronise, a release and an acquire: `[≥rel];([F];sb)?;rs;rf;[R & atomic];(sb;[F])?;[≥acq]`.
    pub(crate) fn synchronised(&self) -> Vec<(Id, Id)> {
        let mut pairs = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            let is_atomic = event.kind == Kind::Read && event.mode.ordering().is_some();
            if is_atomic && event.source != INITIAL && self.axioms.synchronise() {
                self.add_pairs(at as Id, &mut pairs);
            }
        }
        pairs
    }

    fn add_pairs(&self, read: Id, pairs: &mut Vec<(Id, Id)>) {
        let event = self.event(read);
        let thread = |event: &Event| self.thread(event.thread).iter().copied();
        let is_fence = |id: &Id| self.event(*id).kind == Kind::Fence;
        let mut acquired = thread(event).skip(event.index as usize).filter(is_fence);
        let acquires = |id: &Id| self.event(*id).mode.acquires();
        let end = if event.mode.acquires() { Some(read) } else { acquired.find(acquires) };
        let mut head = event.source;
        let mut starts: SmallVec<[Id; 2]> = SmallVec::new();
        while head != INITIAL {
            let write = self.event(head);
            let mut fences = thread(write).take(write.index as usize).filter(is_fence);
            let fence = fences.rfind(|id| self.event(*id).mode.releases());
            let itself = Some(head).filter(|_| write.mode.ordering().is_some() && write.mode.releases());
            starts.extend(itself.or(fence.filter(|_| write.mode != Mode::Plain)));
            head = if write.update { write.source } else { INITIAL };
        }
        let others = starts.into_iter().filter(|&start| self.event(start).thread != event.thread);
        pairs.extend(others.filter_map(|start| Some((start, end?))));
    }
}

//! What relates the events of a graph, for whoever tells of it: by positions in a schedule.

use super::Search;
use super::advise::{Stronger, advise};
use crate::execution::Describe;
use crate::execution::graph::{Event, Flaw, Graph, INITIAL, Id, Kind, Object};
use crate::search::{Violation, ViolationKind};
use crate::trace::{Advice, Change, Obstacle, Related};

impl<S: Describe> Search<'_, S> {
    /// What relates the events. `positions` has for each of them the step that it belongs to.
    pub(super) fn related(&self, positions: &[usize], n_steps: usize) -> Related {
        let graph = &self.world.graph;
        let at = |id: Id| positions.get(id as usize).copied();
        let mut reads_from = vec![None; n_steps];
        for (id, event) in graph.events().iter().enumerate().take(positions.len()) {
            let is_cell = event.kind == Kind::Read && matches!(self.names.object(event.loc), Object::Cell(_));
            if is_cell && event.source != INITIAL {
                reads_from[positions[id]] = at(event.source);
            }
        }
        let cells = self.names.objects().take(graph.n_locs()).filter_map(|(loc, object)| match object {
            Object::Cell(cell) if !graph.writes(loc).is_empty() => {
                Some((cell, graph.writes(loc).iter().filter_map(|&id| at(id)).collect()))
            }
            _ => None,
        });
        let pairs = graph.synchronised().into_iter().filter_map(|(from, to)| at(from).zip(at(to)));
        Related { reads_from, modification_order: cells.collect(), synchronises: pairs.collect(), advice: None }
    }

    /// The orderings that are too weak, if stronger ones would rule a violation out.
    pub(super) fn advice(&self, violation: &Violation, positions: &[usize]) -> Option<Advice> {
        let graph = &self.world.graph;
        let Stronger { changes, flaw } = advise(graph, &self.names, |graph| self.is_wrong(graph, violation))?;
        let at = |id: Id| positions.get(id as usize).copied();
        let change = |(id, mode): (Id, crate::execution::graph::Mode)| {
            Some(Change { event: at(id)?, from: graph.event(id).mode.ordering()?, to: mode.ordering()? })
        };
        let obstacle = match flaw {
            Some(Flaw::Access(id)) => Obstacle::Access(at(id)?),
            Some(Flaw::Order) => Obstacle::Order,
            None => Obstacle::Ordered,
        };
        Some(Advice { changes: changes.into_iter().map(change).collect::<Option<_>>()?, obstacle })
    }

    /// Whether the violation shows in a graph that has the events of this one.
    fn is_wrong(&self, graph: &Graph, violation: &Violation) -> bool {
        let spans: Vec<_> = violation.span.into_iter().chain(violation.also.iter().map(|also| also.span)).collect();
        let is_there = |event: &Event| spans.contains(&event.span);
        let ids = 0..graph.len() as Id;
        match violation.kind {
            ViolationKind::DataRace => ids.clone().any(|id| {
                let event = graph.event(id);
                let is_access = matches!(event.kind, Kind::Read | Kind::Write | Kind::Touch(_)) && is_there(event);
                let is_made = || self.maker_in_race(graph, event).is_some();
                let races = || {
                    let mut others = graph.accesses(event.loc).iter().map(|&other| graph.event(other));
                    others.any(|other| {
                        is_there(other) && event.conflicts(other) && !other.sees(event) && !event.sees(other)
                    })
                };
                is_access && (is_made() || races())
            }),
            ViolationKind::Failure(crate::base::FailureKind::UseAfterFree) => ids.clone().any(|id| {
                let Kind::Free(block) = graph.event(id).kind else { return false };
                let in_block = |event: &Event| match event.kind {
                    Kind::Free(other) => other == block,
                    Kind::Read | Kind::Write => {
                        matches!(self.names.object(event.loc), Object::Cell(loc) if loc.block() == Some(block))
                    }
                    _ => false,
                };
                let free = graph.event(id);
                let mut users = graph.events().iter().filter(|event| is_there(event) && in_block(event));
                users.any(|user| user.thread != free.thread && !free.sees(user))
            }),
            _ => true,
        }
    }
}

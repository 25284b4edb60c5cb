//! What the core is told: what follows, what contradicts itself, and why.

use super::undo::Mark;
use super::{Consistency, Ordered};
use crate::knowledge::book::WriteId;
use crate::solver::{CoreTheory, Lit, Reasons, Trail};
use smallvec::smallvec;

/// How often the clock is looked at: after so many literals. That is the best measure of how much is done that does not depend on a clock.
const LOOK_EVERY: usize = 1 << 10;

impl CoreTheory for Ordered<'_, '_> {
    fn partial_check(&mut self, trail: &mut Trail<'_, '_>) -> Consistency {
        self.asked.clear();
        if self.n_seen == trail.len() && self.waiting.is_empty() {
            return Ok(());
        }
        self.n_unlooked += trail.len() - self.n_seen;
        if self.n_unlooked >= LOOK_EVERY {
            self.n_unlooked = 0;
            (self.look)();
        }
        // A conflict needs a reason.
        self.check(trail).map_err(|reasons| if reasons.is_empty() { smallvec![self.truth] } else { reasons })
    }

    fn final_check(&mut self, trail: &mut Trail<'_, '_>) {
        (self.look)();
        if let Err(open) = self.linearize() {
            for (first, second) in open {
                let lit = self.order_literal(first, second, trail);
                // Says nothing, but that there is something left to decide.
                trail.lemma(&[lit, !lit]);
            }
        }
    }

    fn create_level(&mut self) {
        self.asked.clear();
        let precedence = self.precedence.mark();
        self.levels.create(Mark { precedence, undo: self.undo.len(), n_seen: self.n_seen });
    }

    fn pop_levels(&mut self, n: usize) {
        let Some(mark) = self.levels.pop(n) else { return };
        while self.undo.len() > mark.undo {
            let undo = self.undo.pop().expect("there is more");
            self.take_back(undo);
        }
        self.precedence.go_back(mark.precedence);
        self.happenings.truncate(self.precedence.len());
        self.n_seen = mark.n_seen;
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain(&mut self, lit: Lit) -> &[Lit] {
        self.asked.push(lit);
        self.why.get(&lit).unwrap_or(&self.closed)
    }
}

impl Ordered<'_, '_> {
    /// The literal that says that a write is before another.
    fn order_literal(&mut self, first: WriteId, second: WriteId, trail: &mut Trail<'_, '_>) -> Lit {
        if let Some(lit) = self.orders.literal(first, second) {
            return lit;
        }
        // It is false by default: the first question is whether the other order will do.
        let lit = trail.new_lit();
        self.named.push((first, second));
        self.orders.insert(first, second, lit);
        lit
    }

    /// Tells the core that there is nothing in any list that it does not say.
    fn tell_closed(&mut self, trail: &mut Trail<'_, '_>) -> Consistency {
        if self.closed.is_empty() || std::mem::replace(&mut self.told_closed, true) {
            return Ok(());
        }
        let needs_nothing = &self.book.sections.needs_nothing;
        let lists = self.book.lists.iter().enumerate().map(|(at, list)| {
            let needs_nothing = needs_nothing.get(at) == Some(&true);
            if needs_nothing { list.more } else { !list.more }
        });
        let nodes = self.book.nodes.iter().filter_map(|node| node.entry.as_ref()).map(|entry| !entry.more);
        for lit in lists.chain(nodes) {
            let value = trail.value(lit.var());
            if value == Some(true) && !lit.is_positive() {
                return Err(smallvec![self.closed[0], !lit]);
            }
            if value.is_none() {
                trail.propagate(lit);
            }
        }
        Ok(())
    }

    /// Tells the core what follows.
    fn tell(&mut self, trail: &mut Trail<'_, '_>) -> Consistency {
        for (lit, why) in std::mem::take(&mut self.following) {
            self.tell_one(lit, why, trail)?;
        }
        for (first, second, mut why) in std::mem::take(&mut self.implied) {
            let [from, to] = [first, second].map(|write| self.writes[write as usize]);
            if self.precedence.is_before(to, from) {
                self.precedence.explain(to, from, &mut why);
                return Err(why);
            }
            let lit = self.order_literal(first, second, trail);
            self.tell_one(lit, why, trail)?;
        }
        Ok(())
    }

    fn tell_one(&mut self, lit: Lit, mut why: Reasons, trail: &mut Trail<'_, '_>) -> Consistency {
        let value = trail.value(lit.var());
        if value.is_none() {
            self.why.insert(lit, why);
            trail.propagate(lit);
        } else if value != Some(lit.is_positive()) {
            // The opposite has been told: nobody would notice later that both cannot be.
            why.push(!lit);
            return Err(why);
        }
        Ok(())
    }

    fn check(&mut self, trail: &mut Trail<'_, '_>) -> Consistency {
        self.implied.clear();
        self.following.clear();
        self.note(trail)?;
        self.tell_closed(trail)?;
        self.tell(trail)
    }
}

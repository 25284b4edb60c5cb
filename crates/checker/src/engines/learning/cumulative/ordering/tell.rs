//! What the core is told: what follows, what contradicts itself, and why.

use super::undo::Mark;
use super::{Ordered, Outcome};
use crate::engines::learning::cumulative::book::WriteId;
use crate::solver::Reasons;
use batsat::{Lit, Theory, TheoryArg, lbool};
use smallvec::{SmallVec, smallvec};

/// How often the clock is looked at: after so many literals. That is the best measure of how much is done that does not depend on a clock.
const LOOK_EVERY: usize = 1 << 10;

impl Theory for Ordered<'_, '_> {
    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.asked.clear();
        if self.n_seen == arguments.model().len() && self.waiting.is_empty() {
            return;
        }
        self.n_unlooked += arguments.model().len() - self.n_seen;
        if self.n_unlooked >= LOOK_EVERY {
            self.n_unlooked = 0;
            (self.look)();
        }
        if let Err(reasons) = self.check(arguments) {
            self.raise(reasons, arguments);
        }
    }

    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        (self.look)();
        if let Err(open) = self.linearize() {
            for (first, second) in open {
                let lit = self.order_literal(first, second, arguments);
                // Says nothing, but that there is something left to decide.
                arguments.add_theory_lemma(&[lit, !lit]);
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

    fn explain_propagation(&mut self, lit: Lit) -> &[Lit] {
        self.asked.push(lit);
        self.why.get(&lit).unwrap_or(&self.closed)
    }
}

impl Ordered<'_, '_> {
    /// The literal that says that a write is before another.
    fn order_literal(&mut self, first: WriteId, second: WriteId, arguments: &mut TheoryArg<'_>) -> Lit {
        if let Some(lit) = self.orders.literal(first, second) {
            return lit;
        }
        // It is false by default: the first question is whether the other order will do.
        let lit = arguments.mk_new_lit();
        self.named.push((first, second));
        self.orders.insert(first, second, lit);
        lit
    }

    /// Tells the core that there is nothing in any list that it does not say.
    fn tell_closed(&mut self, arguments: &mut TheoryArg<'_>) -> Outcome {
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
            let value = arguments.value(lit.var());
            if value == lbool::TRUE && !lit.sign() {
                return Err(smallvec![self.closed[0], !lit]);
            }
            if value == lbool::UNDEF {
                arguments.propagate(lit);
            }
        }
        Ok(())
    }

    /// Tells the core what follows.
    fn tell(&mut self, arguments: &mut TheoryArg<'_>) -> Outcome {
        for (lit, why) in std::mem::take(&mut self.following) {
            self.tell_one(lit, why, arguments)?;
        }
        for (first, second, mut why) in std::mem::take(&mut self.implied) {
            let [from, to] = [first, second].map(|write| self.writes[write as usize]);
            if self.precedence.is_before(to, from) {
                self.precedence.explain(to, from, &mut why);
                return Err(why);
            }
            let lit = self.order_literal(first, second, arguments);
            self.tell_one(lit, why, arguments)?;
        }
        Ok(())
    }

    fn tell_one(&mut self, lit: Lit, mut why: Reasons, arguments: &mut TheoryArg<'_>) -> Outcome {
        let value = arguments.value(lit.var());
        if value == lbool::UNDEF {
            self.why.insert(lit, why);
            arguments.propagate(lit);
        } else if (value == lbool::TRUE) != lit.sign() {
            // The opposite has been told: nobody would notice later that both cannot be.
            why.push(!lit);
            return Err(why);
        }
        Ok(())
    }

    fn check(&mut self, arguments: &mut TheoryArg<'_>) -> Outcome {
        self.implied.clear();
        self.following.clear();
        self.note(arguments.model())?;
        self.tell_closed(arguments)?;
        self.tell(arguments)
    }

    fn raise(&self, mut reasons: Reasons, arguments: &mut TheoryArg<'_>) {
        if reasons.is_empty() {
            reasons.push(self.truth);
        }
        reasons.sort_unstable();
        reasons.dedup();
        let clause: SmallVec<[Lit; 16]> = reasons.into_iter().map(|lit| !lit).collect();
        arguments.raise_conflict(&clause, false);
    }
}

//! The levels of a search: what to go back to when some of it is taken back.

/// A stack of marks, one for each level.
pub(crate) struct Levels<T>(Vec<T>);

impl<T> Default for Levels<T> {
    fn default() -> Levels<T> {
        Levels(vec![])
    }
}

impl<T> Levels<T> {
    /// A new level begins here.
    pub(crate) fn create(&mut self, mark: T) {
        self.0.push(mark);
    }

    /// Ends some levels. Gives the mark where the first of them began.
    pub(crate) fn pop(&mut self, n: usize) -> Option<T> {
        let kept = self.0.len() - n;
        self.0.drain(kept..).next()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

//! What follows from executions that were run: from one of them (`causality/`), and from all of them together (`book/`).

pub(crate) mod book;
pub mod causality;

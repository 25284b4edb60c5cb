//! What follows from executions that were run.

pub mod causality;

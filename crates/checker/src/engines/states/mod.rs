//! Engines that store states: every state once (`exhaustive`), or bound by bound (`icb`).

mod alone;
pub(crate) mod endless;
pub mod exhaustive;
pub mod histories;
pub mod icb;
mod moves;
mod spectators;
pub(crate) mod survey;

//! More than a reference: how to write tests, what changes for users of other tools, and where the limits are.

#[doc = include_str!("../guide/tutorial.md")]
pub mod tutorial {}

#[doc = include_str!("../guide/coming_from_loom.md")]
pub mod coming_from_loom {}

#[doc = include_str!("../guide/coming_from_shuttle.md")]
pub mod coming_from_shuttle {}

#[doc = include_str!("../guide/const_new.md")]
pub mod const_new {}

#[doc = include_str!("../guide/limits.md")]
pub mod limits {}

//! Tests of the library. Each module is one kind of claim.

mod first;

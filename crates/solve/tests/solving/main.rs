//! Solving as users of the crate see it.

mod bounds;
mod community;
mod corpus;
mod rules;
mod vectors;

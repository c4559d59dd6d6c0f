//! catalogql: one GraphQL endpoint over file-based catalogs of the Operator Lifecycle Manager.
//!
//! A module is a room; it imports only from rooms to its left (`tests/tidy.rs` holds it to that):
//!
//! | 0 facts | 1 parts | 2 load | 3 ends | 4 wiring |
//! |---|---|---|---|---|
//! | `fbc`, [`coding`], [`conditional`], [`telemetry`] | [`source`], [`unpack`], [`store`], [`catalogs`], [`listen`] | [`load`] | [`views`] | [`run`], [`args`] |

pub mod coding;
pub mod conditional;
pub mod telemetry;

pub mod catalogs;
pub mod listen;
pub mod source;
pub mod store;
pub mod unpack;

pub mod load;

pub mod views;

pub mod args;
pub mod run;

//! Tests of the controller against a real API server and a real registry; a module is named for what it is about.

mod control_plane;
mod support;
mod validation;

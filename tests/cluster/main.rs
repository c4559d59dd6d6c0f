//! Tests of the controller against a real API server and a real registry, in one binary, so that they share a control
//! plane; a module is named for what it is about.

mod control_plane;

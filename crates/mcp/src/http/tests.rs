//! Requests over HTTP.

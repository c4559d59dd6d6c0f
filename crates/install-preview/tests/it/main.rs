//! Compares renderings with those of the OLM v1 controller. `testdata/golden/README.md` says what is
//! recorded.

mod recorded;
mod refusals;

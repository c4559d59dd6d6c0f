//! Plans over made and real catalogs.

mod chosen;
mod corpus;
mod edge_cases;
mod naive;
mod requests;
mod world;

//! Plans over made and real catalogs.

mod chosen;
mod corpus;
mod cut;
mod edge_cases;
mod naive;
mod promises;
mod requests;
mod world;

//! Tests of the plugin as users run it, and of the client library below it, against a server in the
//! same process.

mod cluster;
mod commands;
mod completion;
mod configuration;
mod dependencies;
mod docs;
mod go;
mod habits;
mod krew;
mod library;
mod migration;
mod mirroring;
mod other_servers;
mod policy;
mod preview;
mod solving;
mod support;
mod tables;
mod typescript;
mod upgrade_plan;
mod watch;

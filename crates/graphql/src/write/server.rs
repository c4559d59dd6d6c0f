//! `Server` and `Limit`.

use metrics::Label as _;

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::documents::DocumentPolicy;
use crate::fields::{LimitField, ServerField};
use crate::limits::{IntrospectionPolicy, ListedLimit};
use crate::server_info::schema_digest;

/// The type `Server`.
#[derive(Clone, Copy)]
pub(super) struct ServerObject;

impl<'a> Object<'a> for ServerObject {
    type Field = ServerField;

    fn write(
        self,
        name: ServerField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let server = writer.context.server;
        let limits = writer.context.limits;
        match name {
            ServerField::Version => writer.string(&server.info.version),
            ServerField::Commit => writer.optional_string(server.info.commit.as_deref()),
            ServerField::SchemaDigest => writer.string(&schema_digest().hex()),
            ServerField::Introspection => {
                writer.boolean(limits.introspection == IntrospectionPolicy::Enabled);
            }
            ServerField::TrustedDocumentsOnly => {
                writer.boolean(server.policy == DocumentPolicy::TrustedOnly);
            }
            ServerField::PlaygroundUrl => {
                writer.optional_string(server.info.playground_url.as_deref());
            }
            ServerField::Limits => return writer.object_list(&limits.list(), field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &ListedLimit {
    type Field = LimitField;

    fn write(
        self,
        name: LimitField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            LimitField::Name => writer.static_string(self.name),
            LimitField::Value => writer.count(usize::try_from(self.value).unwrap_or(usize::MAX)),
            LimitField::Unit => writer.static_string(self.unit.as_str()),
            LimitField::Code => match self.code {
                Some(code) => writer.static_string(code.as_str()),
                None => writer.null(),
            },
        }
        Ok(())
    }
}

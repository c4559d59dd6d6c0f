//! `ServiceAccountPermissions`, `PolicyRule`, `WebhookDescription` and `WebhookRule`: what an
//! operator may do and intercepts.

use fbc::work::Step;
use fbc::{
    CsvMetadata, PolicyRule, ServiceAccountPermissions, WebhookDescription, WebhookRule,
    WebhookType,
};

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{
    PolicyRuleField, ServiceAccountPermissionsField, WebhookDescriptionField, WebhookRuleField,
};

impl<'a> ResponseWriter<'a> {
    /// Writes what a `ClusterServiceVersion` lists, and `null` for other metadata.
    pub(super) fn install_list<T: Object<'a>>(
        &mut self,
        metadata: &CsvMetadata<'_>,
        list: Option<Vec<T>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        // The list is read once, and then each object for its own lists.
        self.work
            .draw(Step::JsonByte, 3 * metadata.install_bytes())?;
        let Some(list) = list else {
            self.null();
            return Ok(());
        };
        self.object_list(list, field)
    }
}

impl<'a> Object<'a> for ServiceAccountPermissions<'_> {
    type Field = ServiceAccountPermissionsField;

    fn write(
        self,
        name: ServiceAccountPermissionsField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ServiceAccountPermissionsField::ServiceAccountName => {
                writer.json(self.service_account_name.raw())
            }
            ServiceAccountPermissionsField::Rules => writer.object_list(self.rules(), field),
        }
    }
}

impl<'a> Object<'a> for PolicyRule<'_> {
    type Field = PolicyRuleField;

    fn write(
        self,
        name: PolicyRuleField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        writer.json_strings(match name {
            PolicyRuleField::ApiGroups => self.api_groups(),
            PolicyRuleField::Resources => self.resources(),
            PolicyRuleField::ResourceNames => self.resource_names(),
            PolicyRuleField::Verbs => self.verbs(),
            PolicyRuleField::NonResourceUrls => self.non_resource_urls(),
        })
    }
}

impl<'a> Object<'a> for WebhookDescription<'_> {
    type Field = WebhookDescriptionField;

    fn write(
        self,
        name: WebhookDescriptionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            WebhookDescriptionField::Name => writer.json(self.generate_name.raw()),
            WebhookDescriptionField::Type => {
                writer.optional_string(self.kind.map(WebhookType::as_str));
                Ok(())
            }
            WebhookDescriptionField::DeploymentName => {
                writer.optional_json_string(self.deployment_name)
            }
            WebhookDescriptionField::Path => writer.optional_json_string(self.path),
            WebhookDescriptionField::FailurePolicy => {
                writer.optional_json_string(self.failure_policy)
            }
            WebhookDescriptionField::Rules => writer.object_list(self.rules(), field),
            WebhookDescriptionField::ConversionCrds => writer.json_strings(self.conversion_crds()),
        }
    }
}

impl<'a> Object<'a> for WebhookRule<'_> {
    type Field = WebhookRuleField;

    fn write(
        self,
        name: WebhookRuleField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        writer.json_strings(match name {
            WebhookRuleField::ApiGroups => self.api_groups(),
            WebhookRuleField::ApiVersions => self.api_versions(),
            WebhookRuleField::Resources => self.resources(),
            WebhookRuleField::Operations => self.operations(),
        })
    }
}

//! `OlmV1Judgement` and `OlmV1Blocker`: whether OLM v1 can install a bundle.

use fbc::{OlmV1Blocker, OlmV1Evidence, OlmV1Judgement};

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{OlmV1BlockerField, OlmV1JudgementField};
use crate::filter::{self, OLM_V1_VALUES};

impl<'a> Object<'a> for &OlmV1Judgement {
    type Field = OlmV1JudgementField;

    fn write(
        self,
        name: OlmV1JudgementField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            OlmV1JudgementField::Installable => {
                writer.static_string(filter::word(&OLM_V1_VALUES, &self.installability));
            }
            OlmV1JudgementField::JudgedFrom => writer.static_string(match self.evidence {
                OlmV1Evidence::Metadata => "METADATA",
                OlmV1Evidence::Manifests => "MANIFESTS",
            }),
            OlmV1JudgementField::Blockers => return writer.object_list(&self.blockers, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &OlmV1Blocker {
    type Field = OlmV1BlockerField;

    fn write(
        self,
        name: OlmV1BlockerField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            OlmV1BlockerField::Code => writer.string(&self.code.to_string()),
            OlmV1BlockerField::Detail => writer.string(&self.detail),
            OlmV1BlockerField::Hard => writer.boolean(self.is_hard),
        }
        Ok(())
    }
}

//! `VersionLifecycle`, `SupportPhase` and `PlatformSupport`: support of a package over time.

use fbc::{PlatformSupport, SupportPhase, VersionLifecycle, parse_date};

use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{PlatformSupportField, SupportPhaseField, VersionLifecycleField};

impl<'a> ResponseWriter<'a> {
    /// `VersionLifecycle.phase`.
    fn phase_on(
        &mut self,
        lifecycle: &VersionLifecycle<'_>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let day = arguments(field).string("on").unwrap_or_default();
        match parse_date(day) {
            Some(day) => self.optional_object(lifecycle.phase_on(day), field),
            None => self.bad_user_input(
                field,
                format!("`on` is malformed: {day:?} is not a day, such as 2026-11-21"),
            ),
        }
    }
}

impl<'a> Object<'a> for &VersionLifecycle<'_> {
    type Field = VersionLifecycleField;

    fn write(
        self,
        name: VersionLifecycleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            VersionLifecycleField::Version => writer.json(self.version.raw()),
            VersionLifecycleField::Phases => writer.object_list(self.phases.iter().copied(), field),
            VersionLifecycleField::Phase => writer.phase_on(self, field),
            VersionLifecycleField::SupportEndDate => {
                writer.optional_string(self.support_end().map(|day| day.to_string()).as_deref());
                Ok(())
            }
            VersionLifecycleField::Platforms => writer.object_list(&self.platforms, field),
        }
    }
}

impl<'a> Object<'a> for SupportPhase<'_> {
    type Field = SupportPhaseField;

    fn write(
        self,
        name: SupportPhaseField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let day = match name {
            SupportPhaseField::Name => return writer.json(self.name.raw()),
            SupportPhaseField::StartDate => self.start,
            SupportPhaseField::EndDate => self.end,
        };
        writer.optional_string(day.map(|day| day.to_string()).as_deref());
        Ok(())
    }
}

impl<'a> Object<'a> for &PlatformSupport<'_> {
    type Field = PlatformSupportField;

    fn write(
        self,
        name: PlatformSupportField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PlatformSupportField::Name => writer.json(self.name.raw()),
            PlatformSupportField::Versions => writer.json_strings(self.versions.iter().copied()),
        }
    }
}

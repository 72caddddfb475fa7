//! Where in the code a span began: one answer from all spellings of each attribute.

use super::Reason;

/// A value of an attribute, as far as it can say a place: what else there is (truth, lists, bytes) is `Other`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// A whole number.
    Whole(i64),
    /// A number with a point.
    Decimal(f64),
    /// Anything else; says nothing.
    Other,
}

impl<'a> Value<'a> {
    /// The text, where it is one that is not empty.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A line or column: a whole number from 1, also as text, as several emitters send it. What no file is long
    /// enough for stays a number, at which there is nothing.
    fn position(self) -> Option<u32> {
        let number = match self {
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Whole(number) => number,
            #[expect(clippy::cast_possible_truncation, reason = "what is beyond is cut to the ends, which are refused")]
            Self::Decimal(number) if number.fract() == 0.0 => number as i64,
            Self::Decimal(_) | Self::Other => return None,
        };
        (number >= 1).then(|| u32::try_from(number).unwrap_or(u32::MAX))
    }
}

/// A value that may be said several times, as long as it is the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot<T> {
    value: Option<T>,
    clash: bool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: None, clash: false }
    }
}

impl<T: Copy + PartialEq> Slot<T> {
    /// Takes what one spelling says; what cannot be used says nothing.
    pub(super) fn put(&mut self, said: Option<T>) {
        self.put_by(said, |a, b| a == b);
    }

    /// As [`Slot::put`], where the same thing can be written in several ways.
    pub(super) fn put_by(&mut self, said: Option<T>, same: impl Fn(T, T) -> bool) {
        match (self.value, said) {
            (Some(known), Some(said)) => self.clash |= !same(known, said),
            (None, said) => self.value = said,
            (Some(_), None) => {}
        }
    }

    /// What was said, unless it was two things.
    pub(super) fn get(self) -> Result<Option<T>, Reason> {
        if self.clash { Err(Reason::AttrConflict) } else { Ok(self.value) }
    }
}

/// Where a span began, before anything is known of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// As the emitter wrote it.
    pub path: &'a str,
    /// From 1.
    pub line: u32,
    /// From 1, where one is given.
    pub column: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place<'a> {
    path: Slot<&'a str>,
    line: Slot<u32>,
    column: Slot<u32>,
}

/// Collects the attributes of one span that say where it began.
///
/// Read are the stable spellings, those before semantic conventions 1.30, and Datadog's code origin (its first frame,
/// which is of the call where the origin is an `exit`). They are resolved attribute by attribute, since emitters mix
/// them; where two are present and differ, there is no answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Code<'a> {
    place: Place<'a>,
    origin: Place<'a>,
    origin_is_entry: bool,
}

impl<'a> Code<'a> {
    /// Takes an attribute, and says whether it is one that says a place.
    pub fn note(&mut self, key: &str, value: Value<'a>) -> bool {
        match key {
            "code.file.path" | "code.filepath" => self.place.path.put(value.text()),
            "code.line.number" | "code.lineno" => self.place.line.put(value.position()),
            "code.column.number" | "code.column" => self.place.column.put(value.position()),
            "_dd.code_origin.frames.0.file" => self.origin.path.put(value.text()),
            "_dd.code_origin.frames.0.line" => self.origin.line.put(value.position()),
            "_dd.code_origin.frames.0.column" => self.origin.column.put(value.position()),
            "_dd.code_origin.type" => self.origin_is_entry |= value == Value::Text("entry"),
            _ => return false,
        }
        true
    }

    /// The place, or why there is none: [`Reason::AttrConflict`] or [`Reason::NoCodeLocation`].
    pub fn location(&self) -> Result<Location<'a>, Reason> {
        let mut place = self.place;
        if !self.origin_is_entry {
            place.path.put(self.origin.path.get()?);
            place.line.put(self.origin.line.get()?);
            place.column.put(self.origin.column.get()?);
        }
        let (path, line, column) = (place.path.get()?, place.line.get()?, place.column.get()?);
        let (Some(path), Some(line)) = (path, line) else { return Err(Reason::NoCodeLocation) };
        Ok(Location { path, line, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(attributes: &[(&str, Value<'static>)]) -> Result<(&'static str, u32, Option<u32>), Reason> {
        let mut code = Code::default();
        for (key, value) in attributes {
            assert!(code.note(key, *value), "{key}");
        }
        code.location().map(|found| (found.path, found.line, found.column))
    }

    const PATH: (&str, Value<'static>) = ("code.file.path", Value::Text("/app/a.ts"));
    const OLD_PATH: (&str, Value<'static>) = ("code.filepath", Value::Text("/app/a.ts"));

    #[test]
    fn spellings_mix_and_numbers_may_be_texts() {
        let found = Ok(("/app/a.ts", 23, None));
        assert_eq!(at(&[PATH, ("code.line.number", Value::Whole(23))]), found);
        assert_eq!(at(&[OLD_PATH, ("code.lineno", Value::Text("23"))]), found);
        assert_eq!(at(&[PATH, ("code.lineno", Value::Text(" 23 "))]), found);
        assert_eq!(at(&[("code.lineno", Value::Decimal(23.0)), PATH, OLD_PATH]), found);
        let column = ("code.column", Value::Whole(7));
        assert_eq!(at(&[PATH, ("code.lineno", Value::Whole(23)), column]), Ok(("/app/a.ts", 23, Some(7))));
    }

    #[test]
    fn what_differs_is_a_conflict_and_what_says_nothing_is_not() {
        let line = |number| ("code.line.number", Value::Whole(number));
        let old = |number| ("code.lineno", Value::Whole(number));
        assert_eq!(at(&[PATH, line(23), old(24)]), Err(Reason::AttrConflict));
        assert_eq!(at(&[PATH, ("code.filepath", Value::Text("/app/b.ts")), line(23)]), Err(Reason::AttrConflict));
        assert_eq!(at(&[PATH, line(23), line(24)]), Err(Reason::AttrConflict), "the same key twice");
        assert_eq!(
            at(&[PATH, line(23), ("code.column", Value::Whole(1)), ("code.column.number", Value::Whole(2))]),
            Err(Reason::AttrConflict)
        );
        assert_eq!(at(&[PATH, line(0), old(24)]), Ok(("/app/a.ts", 24, None)));
        assert_eq!(at(&[("code.file.path", Value::Text("")), OLD_PATH, line(23)]), Ok(("/app/a.ts", 23, None)));
    }

    #[test]
    fn a_line_is_a_whole_number_from_one() {
        for value in [
            Value::Whole(0),
            Value::Whole(-3),
            Value::Text("x"),
            Value::Text(""),
            Value::Decimal(2.5),
            Value::Decimal(f64::NAN),
            Value::Other,
        ] {
            assert_eq!(at(&[PATH, ("code.line.number", value)]), Err(Reason::NoCodeLocation), "{value:?}");
        }
        assert_eq!(at(&[PATH, ("code.line.number", Value::Whole(i64::MAX))]), Ok(("/app/a.ts", u32::MAX, None)));
        assert_eq!(at(&[("code.line.number", Value::Whole(1))]), Err(Reason::NoCodeLocation));
        assert_eq!(
            at(&[("code.file.path", Value::Whole(1)), ("code.line.number", Value::Whole(1))]),
            Err(Reason::NoCodeLocation)
        );
    }

    #[test]
    fn datadog_says_where_a_call_left_and_not_where_a_request_came_in() {
        let file = ("_dd.code_origin.frames.0.file", Value::Text("/app/a.ts"));
        let line = ("_dd.code_origin.frames.0.line", Value::Text("23"));
        let column = ("_dd.code_origin.frames.0.column", Value::Text("5"));
        let origin = |word| ("_dd.code_origin.type", Value::Text(word));
        assert_eq!(at(&[origin("exit"), file, line, column]), Ok(("/app/a.ts", 23, Some(5))));
        assert_eq!(at(&[file, line, origin("entry")]), Err(Reason::NoCodeLocation));
        assert_eq!(at(&[file, line, PATH, ("code.lineno", Value::Whole(24))]), Err(Reason::AttrConflict));
        assert_eq!(
            at(&[file, line, origin("entry"), PATH, ("code.lineno", Value::Whole(24))]),
            Ok(("/app/a.ts", 24, None))
        );
        assert!(!Code::default().note("code.function.name", Value::Text("charge")), "no rule asks for the function");
    }
}

//! From byte offsets to lines and UTF-16 columns, as V8 reports them.

/// The starts of all lines of a text, and where bytes and UTF-16 units part.
pub(crate) struct Positions {
    starts: Vec<u32>,
    lines: u32,
    /// Behind each character that is not ASCII: its end, and how many bytes more than units there were up to it.
    surplus: Vec<(u32, u32)>,
}

impl Positions {
    /// Reads a text once.
    pub(crate) fn new(text: &str) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut starts = vec![0];
        let mut surplus = Vec::new();
        let mut more = 0;
        for (at, c) in text.char_indices() {
            if c == '\n' {
                starts.push(narrow(at + 1));
            } else if !c.is_ascii() {
                more += narrow(c.len_utf8() - c.len_utf16());
                surplus.push((narrow(at + c.len_utf8()), more));
            }
        }
        // A final line feed starts no line of its own.
        let lines = narrow(starts.len() - usize::from(text.ends_with('\n') || text.is_empty()));
        Self { starts, lines, surplus }
    }

    /// Number of lines.
    pub(crate) fn lines(&self) -> u32 {
        self.lines
    }

    /// Line of an offset, from 1.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    /// Line and UTF-16 column of an offset, both from 1.
    pub(crate) fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0);
        let more = self.surplus_before(offset) - self.surplus_before(start);
        (line, offset.saturating_sub(start).saturating_sub(more) + 1)
    }

    fn surplus_before(&self, offset: u32) -> u32 {
        match self.surplus.partition_point(|(end, _)| *end <= offset) {
            0 => 0,
            behind => self.surplus[behind - 1].1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;

    #[test]
    fn columns_count_utf_16_units() {
        let text = "a\n\"😀é\" b\n";
        let positions = Positions::new(text);
        assert_eq!(positions.lines(), 2);
        assert_eq!(positions.line_column(0), (1, 1));
        let b = u32::try_from(text.find('b').unwrap()).unwrap();
        assert_eq!(positions.line_column(b), (2, 7));
        assert_eq!(Positions::new("").lines(), 0);
        assert_eq!(Positions::new("x").lines(), 1);
    }
}

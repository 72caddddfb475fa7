//! Exact expectations of the join.

use time::macros::date;

use super::*;

#[test]
fn a_window_reads_back_from_its_row_and_says_the_word_of_the_day() {
    for window in [Window::Now, Window::OnUpgrade, Window::Unknown, Window::Dated(date!(2026 - 08 - 26))] {
        let (word, day) = window.to_row();
        assert_eq!(Window::from_row(word, day), Some(window));
    }
    assert_eq!(Window::from_row("soon", None), None);
    assert_eq!(Window::Dated(date!(2026 - 08 - 26)).applies(date!(2026 - 08 - 25)), Applies::OnDate);
    assert_eq!(Window::Dated(date!(2026 - 08 - 26)).applies(date!(2026 - 08 - 26)), Applies::Now);
}

//! What is known of each page.

use crate::page::Page;

/// A value for each page, the default one for those that it was not set for; as long as the last of the others needs it.
#[derive(Debug, Default)]
pub(super) struct Table<T>(Vec<T>);

impl<T: Copy + Default> Table<T> {
    pub(super) fn get(&self, page: Page) -> T {
        self.0.get(page.0 as usize).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, page: Page, value: T) {
        let at = page.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, T::default());
        }
        self.0[at] = value;
    }
}

import type { Locator, Page } from 'playwright-core';

/** How a person works a page: with a pointer, or with the keyboard alone. */
export interface Hands {
  /** Opens a part of the console by its name in the menu. */
  open: (section: string) => Promise<void>;
  fill: (label: string, text: string) => Promise<void>;
  press: (button: string) => Promise<void>;
  follow: (link: string | RegExp) => Promise<void>;
}

export function pointer(page: Page): Hands {
  const content = page.getByRole('main');
  return {
    open: async (section) => {
      await page.getByRole('navigation').getByRole('link', { name: section }).click();
      await page.getByRole('heading', { level: 1, name: section }).waitFor();
    },
    fill: (label, text) => fieldOf(content, label).fill(text),
    press: (button) => content.getByRole('button', { name: button }).click(),
    follow: (link) => content.getByRole('link', { name: link }).first().click(),
  };
}

const mostTabs = 60;

/** A label may go on with a hint. */
const fieldOf = (content: Locator, label: string) =>
  content.getByLabel(new RegExp(`^${label.replaceAll(/[.?()]/g, '\\$&')}`));

/** Every step is a key that is pressed: what cannot be reached by them fails. */
export function keyboard(page: Page): Hands {
  const { keyboard: keys } = page;
  const content = page.getByRole('main');
  const focused = page.locator(':focus');
  const tabTo = async (target: Locator) => {
    for (let tab = 0; tab < mostTabs; tab += 1) {
      if ((await target.and(focused).count()) === 1) return;
      await keys.press('Tab');
    }
    throw new Error(`${String(mostTabs)} tabs did not reach ${String(target)}`);
  };
  const type = async (label: string, text: string) => {
    await tabTo(fieldOf(content, label));
    await keys.press('Control+A');
    await keys.type(text);
  };
  const activate = async (target: Locator) => {
    await tabTo(target);
    await keys.press('Enter');
  };
  return {
    open: async (section) => {
      const letter = sectionLetters[section];
      if (letter === undefined) throw new Error(`${section} has no letter`);
      await keys.press('g');
      await keys.press(letter);
      await page.getByRole('heading', { level: 1, name: section }).waitFor();
    },
    fill: type,
    press: (button) => activate(content.getByRole('button', { name: button })),
    follow: (link) => activate(content.getByRole('link', { name: link }).first()),
  };
}

/** After `g`. */
const sectionLetters: Readonly<Record<string, string>> = {
  Overview: 'o',
  Downloads: 'd',
  'Try it': 't',
  'API keys': 'k',
  Invoices: 'i',
  Settings: 's',
  // Of staff.
  Corrections: 'c',
  Overage: 'o',
  Months: 'm',
  Operation: 'r',
};

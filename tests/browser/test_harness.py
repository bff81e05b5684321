"""A browser can be had at all, and what a page complains of is noticed."""

from playwright.sync_api import Page

from tests.browser.conftest import Problems


def test_a_page_runs_its_script_and_its_complaints_are_heard(page: Page, problems: Problems) -> None:
    page.set_content("<p>one</p><script>document.querySelector('p').textContent = 'two'</script>")
    assert page.text_content("p") == "two"
    page.evaluate("setTimeout(() => { throw new Error('for the test') })")
    page.wait_for_function("new Promise(done => setTimeout(() => done(true), 50))")
    assert problems == ["for the test"]
    problems.clear()

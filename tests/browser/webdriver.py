"""A small WebDriver client: Debian's Chromium through its ChromeDriver, with the standard library only.

What WebDriver lacks (colour scheme, print, phone, JavaScript off) goes through ChromeDriver's way to
the DevTools protocol, `cdp`. Chromium starts without a profile, without QUIC and without whatever it
would fetch by itself, so that a request in its log is one of the page.
"""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

TAB, ENTER, SPACE, ESCAPE = "\ue004", "\ue007", " ", "\ue00c"
LEFT, UP, RIGHT, DOWN, HOME, END = "\ue012", "\ue013", "\ue014", "\ue015", "\ue011", "\ue010"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in WebDriver's JSON
ARGUMENTS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--force-device-scale-factor=1", "--hide-scrollbars", "--disable-dev-shm-usage"]


class Missing(Exception):
    """There is no browser here: why."""


class WebDriverError(Exception):
    """What ChromeDriver refused, in its words."""


def programs():
    """Paths of Chromium and ChromeDriver (CHROMIUM and CHROMEDRIVER name others)."""
    found = []
    for variable, names, package in [("CHROMIUM", ["chromium"], "chromium"),
                                     ("CHROMEDRIVER", ["chromedriver"], "chromium-driver")]:
        paths = [shutil.which(name) for name in [os.environ.get(variable) or names[0], *names[1:]]]
        if not any(paths):
            raise Missing("no %s (Debian: %s; scripts/setup browser)" % (names[0], package))
        found.append(next(path for path in paths if path))
    return found


class Element:
    """An element of the page; passes through `js` as an argument and as a result."""

    def __init__(self, identity):
        self.identity = identity

    def __eq__(self, other):
        return isinstance(other, Element) and other.identity == self.identity

    def __hash__(self):
        return hash(self.identity)


def _outward(value):
    if isinstance(value, Element):
        return {ELEMENT: value.identity}
    if isinstance(value, (list, tuple)):
        return [_outward(item) for item in value]
    if isinstance(value, dict):
        return {key: _outward(item) for key, item in value.items()}
    return value


def _inward(value):
    if isinstance(value, dict):
        if ELEMENT in value:
            return Element(value[ELEMENT])
        return {key: _inward(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_inward(item) for item in value]
    return value


class Browser:
    """A headless Chromium of its own; `close` ends it and removes its folder."""

    def __init__(self, timeout=120):
        chromium, chromedriver = programs()
        self.timeout = timeout
        self.folder = tempfile.mkdtemp(prefix="browser-")
        self.session = None
        # Else it leaves caches and crash reports in the home folder, which need not be writable.
        env = dict(os.environ, HOME=self.folder, TMPDIR=self.folder,
                   XDG_CONFIG_HOME=self.folder, XDG_CACHE_HOME=self.folder)
        for proxy in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]:
            env.pop(proxy, None)
        self.process = subprocess.Popen([chromedriver, "--port=0"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=env, start_new_session=True)
        try:
            self.port = self._read_port()
            self._start(chromium)
        except BaseException:
            self.close()
            raise

    def _read_port(self):
        said = []
        for line in self.process.stdout:
            said.append(line)
            match = re.search(r"started successfully on port (\d+)", line)
            if match:
                return int(match.group(1))
        raise WebDriverError("chromedriver did not start: " + "".join(said))

    def _start(self, chromium):
        arguments = [*ARGUMENTS, "--user-data-dir=" + os.path.join(self.folder, "profile")]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # root has none
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": chromium, "args": arguments,
                                   "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}})
        self.session = answer["sessionId"]

    def call(self, method, path, body=None):
        """One command of the protocol; its value."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            text = None if body is None else json.dumps(_outward(body))
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value and "message" in value:
            raise WebDriverError("%s: %s" % (value["error"], value["message"].splitlines()[0]))
        return _inward(value)

    def of_session(self, method, path, body=None):
        return self.call(method, "/session/%s%s" % (self.session, path), body)

    def close(self):
        if self.session:
            try:
                self.of_session("DELETE", "")
            except (OSError, WebDriverError, http.client.HTTPException):
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        for _ in range(50):  # Chromium's children may still write
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.1)

    # --- what tests use

    def cdp(self, command, **parameters):
        """A command of the DevTools protocol."""
        return self.of_session("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def go(self, url):
        self.of_session("POST", "/url", {"url": url})

    def js(self, script, *arguments):
        """Runs the body of a function in the page; its result."""
        return self.of_session("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def js_async(self, script, *arguments):
        """The same of a function whose last argument is called with the result."""
        return self.of_session("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        """The first element, or None."""
        return self.js("return document.querySelector(arguments[0])", selector)

    def find_all(self, selector, within=None):
        return self.js("return [...(arguments[1] || document).querySelectorAll(arguments[0])]", selector, within)

    def click(self, element):
        """As a user: scrolls to it and clicks into its middle; fails where something covers it."""
        self.of_session("POST", "/element/%s/click" % element.identity, {})

    def type(self, element, text):
        """Focuses it and presses keys (TAB, ENTER, ... or text)."""
        self.of_session("POST", "/element/%s/value" % element.identity, {"text": text})

    def keys(self, text, hold=None):
        """Presses keys where the focus is, while `hold` is held."""
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        if hold:
            actions = [{"type": "keyDown", "value": hold}, *actions, {"type": "keyUp", "value": hold}]
        self.of_session("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def hover(self, element):
        self.of_session("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
                {"type": "pointerMove", "duration": 0, "origin": _outward(element), "x": 0, "y": 0}]}]})

    def logs(self, kind):
        """Entries since the last call: `browser` (console and violations), `performance` (DevTools events)."""
        return self.of_session("POST", "/se/log", {"type": kind})

    def screenshot(self, path, whole=True):
        """PNG of the window, or of the whole page."""
        picture = {}
        if whole:
            size = self.js("const e = document.scrollingElement; return [e.scrollWidth, e.scrollHeight]")
            picture = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 16000), "scale": 1}}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.cdp("Page.captureScreenshot", format="png", **picture)["data"]))

    def pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=False)["data"])

    def size(self, width, height=900, phone=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=phone)

    def media(self, medium="", **features):
        """media("print"), media(prefers_color_scheme="dark"); without arguments as the system has it."""
        self.cdp("Emulation.setEmulatedMedia", media=medium, features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def scripts(self, enabled):
        self.cdp("Emulation.setScriptExecutionDisabled", value=not enabled)
